#include "readers/torch/unpack.h"

#include <fmt/format.h>

#include <new>

namespace tidegauge::readers::torch {
namespace {

using base::Error;
using base::ErrorKind;

constexpr int kMostLevels = 4;

class Unpacker {
 public:
  Unpacker(uint64_t input_bytes, const VisitUnpacked& visit)
      : budget_(input_bytes), visit_(visit) {}

  // Goes at most kMostLevels deep, so calling itself is no risk.
  base::Status unpack(const Unpacked& item, int level) {
    if (isGzip(item.bytes)) return one(item, "gzip", unpackGzip, level);
    if (isZstd(item.bytes)) return one(item, "zstd", unpackZstd, level);
    if (isZip(item.bytes)) return many(item, "zip", unpackZip, level);
    if (isHtml(item.bytes)) return many(item, "HTML", unpackHtml, level);
    return visit_(item);
  }

 private:
  static std::string within(const std::string& outer, const char* kind) {
    return outer.empty() ? kind : fmt::format("{} in {}", kind, outer);
  }
  static Error tooDeep() {
    return {ErrorKind::kLimit, "containers in containers, too many levels deep", std::nullopt, ""};
  }

  template <class UnpackOne>
  base::Status one(const Unpacked& item, const char* kind, UnpackOne&& unpack_one, int level) {
    if (level == kMostLevels) return tooDeep();
    TG_ASSIGN_OR_RETURN(base::ByteBuffer buffer, unpack_one(item.bytes, budget_));
    return unpack({buffer.bytes(), item.name, within(item.container, kind)}, level + 1);
  }
  template <class UnpackMany>
  base::Status many(const Unpacked& item, const char* kind, UnpackMany&& unpack_many, int level) {
    if (level == kMostLevels) return tooDeep();
    return unpack_many(item.bytes, budget_, [&](std::string name, std::span<const uint8_t> bytes) {
      return unpack({bytes, std::move(name), within(item.container, kind)}, level + 1);
    });
  }

  UnpackBudget budget_;
  const VisitUnpacked& visit_;
};

}  // namespace

Error unpackLimitError() {
  return {ErrorKind::kLimit, "unpacks to far more than a file of this size should hold",
          std::nullopt, "If it is genuine, unpack it first and open the result."};
}

base::Status unpack(std::span<const uint8_t> input, const std::string& name,
                    const VisitUnpacked& visit) {
  try {
    return Unpacker(input.size(), visit).unpack({input, name, ""}, 0);
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::kLimit, "not enough memory to unpack this file", std::nullopt, ""};
  }
}

}  // namespace tidegauge::readers::torch
