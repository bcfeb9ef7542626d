// unpack: takes containers apart, by their content and not by their name, until a pickle or JSON
// text is left.
//
//   snapshot.html.gz ─► gzip ─► HTML ─► base64 "rank0.pickle" ─► visit(bytes, "rank0.pickle", …)
//                                    └► base64 "rank1.pickle" ─► visit(bytes, "rank1.pickle", …)
//
// Knows gzip, zstd, zip (stored, deflate, zstd) and HTML pages with embedded snapshots, a few
// levels deep. Output is bounded by what the input's size can justify, so that a bomb fails early.
// Source: RFC 1952, RFC 8878, PKWARE's APPNOTE; docs/formats/snapshot.md for the pages.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/byte_buffer.h"
#include "base/result.h"

namespace tidegauge::readers::torch {

struct Unpacked {
  std::span<const uint8_t> bytes;  // valid during the visit
  std::string name;
  std::string container;  // "HTML in gzip"; empty if there was none
};
// An error stops the unpacking and becomes its result.
using VisitUnpacked = std::function<base::Status(const Unpacked&)>;

base::Status unpack(std::span<const uint8_t> input, const std::string& name,
                    const VisitUnpacked& visit);

// ---- for the parts of it ---------------------------------------------------------------------

// How many bytes may still be made out of the input.
class UnpackBudget {
 public:
  explicit UnpackBudget(uint64_t input_bytes) : left_bytes_((64 << 20) + input_bytes * 1100) {}
  uint64_t leftBytes() const { return left_bytes_; }
  bool take(uint64_t bytes) {
    if (bytes > left_bytes_) return false;
    left_bytes_ -= bytes;
    return true;
  }

 private:
  uint64_t left_bytes_;
};

base::Error unpackLimitError();

bool isGzip(std::span<const uint8_t> input);
base::Result<base::ByteBuffer> unpackGzip(std::span<const uint8_t> input, UnpackBudget& budget);
// Deflate without a header, as in a zip.
base::Result<base::ByteBuffer> unpackDeflate(std::span<const uint8_t> input, UnpackBudget& budget);

bool isZstd(std::span<const uint8_t> input);
base::Result<base::ByteBuffer> unpackZstd(std::span<const uint8_t> input, UnpackBudget& budget);

using VisitMember = std::function<base::Status(std::string name, std::span<const uint8_t> bytes)>;
bool isZip(std::span<const uint8_t> input);
base::Status unpackZip(std::span<const uint8_t> input, UnpackBudget& budget,
                       const VisitMember& visit);

bool isHtml(std::span<const uint8_t> input);
base::Status unpackHtml(std::span<const uint8_t> input, UnpackBudget& budget,
                        const VisitMember& visit);

}  // namespace tidegauge::readers::torch
