// unpack: unpacks containers, by their content and not by their name, until a pickle or JSON text
// is left.
//
//   snapshot.html.gz ─► gzip ─► HTML ─► base64 "rank0.pickle" ─► visit(bytes, "rank0.pickle", …)
//                                    └► base64 "rank1.pickle" ─► visit(bytes, "rank1.pickle", …)
//
// Supports gzip, zstd, xz, bzip2, zip (stored, deflate, zstd) and HTML pages with embedded
// snapshots, a few levels deep. Decompression bombs fail early: data that does not start like
// anything readable is not unpacked further, and the rest is bounded by the input's size and the
// machine's free memory.
// Source: RFC 1952, RFC 8878, PKWARE's APPNOTE; docs/formats/snapshot.md for the pages.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/memory/byte_buffer.h"
#include "base/result.h"
#include "model/issues.h"

namespace tidegauge::readers::torch {

struct Unpacked {
  std::span<const uint8_t> bytes;  // valid during the visit
  std::string name;
  std::string container;             // "HTML in gzip"; empty if there was none
  std::vector<model::Issue> issues;  // of the containers around it
};
// An error stops the unpacking and becomes its result.
using VisitUnpacked = std::function<base::Status(const Unpacked&)>;

base::Status unpack(std::span<const uint8_t> input, const std::string& name,
                    const VisitUnpacked& visit);

// Is it useful to unpack or read more than these first bytes? False if their format is unknown, or
// if they cannot be read, whatever follows.
bool mayBecomeReadable(std::span<const uint8_t> start);

// ---- used by the unpackers ---------------------------------------------------------------------

// How many bytes may still be unpacked from the input: 64 MiB and 1,100 times its size, but no more
// than half of the free memory, because reading needs the rest.
class UnpackBudget {
 public:
  explicit UnpackBudget(uint64_t input_bytes);
  uint64_t leftBytes() const { return left_bytes_; }
  // The error for an exhausted budget.
  base::Error error() const;
  bool take(uint64_t bytes) {
    if (bytes > left_bytes_) return false;
    left_bytes_ -= bytes;
    return true;
  }

 private:
  uint64_t left_bytes_;
  bool memory_bound_ = false;
};

// Number of unpacked bytes before mayBecomeReadable() is asked.
inline constexpr size_t kUnpackedStart = 1 << 16;

struct Decompressed {
  base::ByteBuffer bytes;
  bool is_whole = true;         // false: only the start, because it is not readable
  uint64_t trailing_bytes = 0;  // of the input, after the compressed data
};

bool isGzip(std::span<const uint8_t> input);
base::Result<Decompressed> unpackGzip(std::span<const uint8_t> input, UnpackBudget& budget);
// Deflate without a header, as in a zip.
base::Result<Decompressed> unpackDeflate(std::span<const uint8_t> input, UnpackBudget& budget);

bool isZstd(std::span<const uint8_t> input);
base::Result<Decompressed> unpackZstd(std::span<const uint8_t> input, UnpackBudget& budget);

bool isXz(std::span<const uint8_t> input);
base::Result<Decompressed> unpackXz(std::span<const uint8_t> input, UnpackBudget& budget);

bool isBzip2(std::span<const uint8_t> input);
base::Result<Decompressed> unpackBzip2(std::span<const uint8_t> input, UnpackBudget& budget);

// Maximum number of members of an archive or page; every trace costs memory.
inline constexpr uint64_t kMaxMembers = 4096;
base::Error tooManyMembers(uint64_t members, uint64_t offset);

// An empty name: the member has the archive's own name (torch.save).
using VisitMember = std::function<base::Status(std::string name, std::span<const uint8_t> bytes)>;
bool isZip(std::span<const uint8_t> input);
base::Status unpackZip(std::span<const uint8_t> input, UnpackBudget& budget,
                       const VisitMember& visit);

bool isHtml(std::span<const uint8_t> input);
base::Status unpackHtml(std::span<const uint8_t> input, UnpackBudget& budget,
                        const VisitMember& visit);

}  // namespace tidegauge::readers::torch
