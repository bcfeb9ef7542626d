#include "readers/torch/unpack/unpack.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "base/format.h"
#include "base/memory/memory.h"
#include "readers/torch/snapshot_reader.h"

namespace tidegauge::readers::torch {
namespace {

using base::Error;
using base::ErrorKind;

constexpr int kMaxLevels = 4;

class Unpacker {
 public:
  Unpacker(uint64_t input_bytes, const VisitUnpacked& visit)
      : budget_(input_bytes), visit_(visit) {}

  // At most kMaxLevels deep, so the recursion is bounded.
  base::Status unpack(const Unpacked& item, int level) {
    if (isGzip(item.bytes)) return one(item, "gzip", unpackGzip, level);
    if (isZstd(item.bytes)) return one(item, "zstd", unpackZstd, level);
    if (isXz(item.bytes)) return one(item, "xz", unpackXz, level);
    if (isBzip2(item.bytes)) return one(item, "bzip2", unpackBzip2, level);
    if (isZip(item.bytes)) return many(item, "zip", unpackZip, level);
    if (isHtml(item.bytes)) return many(item, "HTML", unpackHtml, level);
    return visit_(item);
  }

 private:
  static std::string within(const std::string& outer, const char* kind) {
    return outer.empty() ? kind : fmt::format("{} in {}", kind, outer);
  }
  static Error tooDeep() {
    return {ErrorKind::kLimit,
            fmt::format("the file contains containers in containers, more than {} levels deep",
                        kMaxLevels),
            0, "Unpack it first."};
  }

  template <class UnpackOne>
  base::Status one(const Unpacked& item, const char* kind, UnpackOne&& unpack_one, int level) {
    if (level == kMaxLevels) return tooDeep();
    TG_ASSIGN_OR_RETURN(Decompressed inner, unpack_one(item.bytes, budget_));
    Unpacked next{inner.bytes.bytes(), item.name, within(item.container, kind), item.issues};
    if (inner.trailing_bytes > 0) {
      next.issues.push_back({.kind = model::IssueKind::kTrailingBytes,
                             .count = inner.trailing_bytes,
                             .detail = fmt::format("after the {} data", kind)});
    }
    return unpack(next, level + 1);
  }
  template <class UnpackMany>
  base::Status many(const Unpacked& item, const char* kind, UnpackMany&& unpack_many, int level) {
    if (level == kMaxLevels) return tooDeep();
    return unpack_many(item.bytes, budget_, [&](std::string name, std::span<const uint8_t> bytes) {
      if (name.empty()) name = item.name;
      return unpack({bytes, std::move(name), within(item.container, kind), item.issues}, level + 1);
    });
  }

  UnpackBudget budget_;
  const VisitUnpacked& visit_;
};

}  // namespace

UnpackBudget::UnpackBudget(uint64_t input_bytes) {
  constexpr uint64_t kAlwaysBytes = 64 << 20;
  constexpr uint64_t kMaxRatio = 1100;  // deflate reaches at most 1,032
  constexpr uint64_t kSmallBytes = 1 << 30;
  bool huge = input_bytes > (UINT64_MAX - kAlwaysBytes) / kMaxRatio;
  left_bytes_ = huge ? UINT64_MAX : kAlwaysBytes + input_bytes * kMaxRatio;
  if (left_bytes_ <= kSmallBytes) return;
  uint64_t half_bytes = std::max(base::freeMemoryBytes() / 2, kAlwaysBytes);
  memory_bound_ = half_bytes < left_bytes_;
  left_bytes_ = std::min(left_bytes_, half_bytes);
}

Error UnpackBudget::error() const {
  const char* what =
      memory_bound_ ? "the unpacked data would need more than half of the free memory"
                    : "the unpacked data is far larger than a file of this size should contain";
  return {ErrorKind::kLimit, what, 0,
          "If you trust the file, unpack it first and open the result."};
}

Error tooManyMembers(uint64_t members, uint64_t offset) {
  return {ErrorKind::kLimit,
          fmt::format("it contains {} files, and Tidegauge reads at most {}",
                      base::withCommas(members), base::withCommas(kMaxMembers)),
          offset, "Unpack it and open some of them."};
}

bool mayBecomeReadable(std::span<const uint8_t> start) {
  return isGzip(start) || isZstd(start) || isXz(start) || isBzip2(start) || isZip(start) ||
         isHtml(start) || mayBecomeSnapshot(start);
}

base::Status unpack(std::span<const uint8_t> input, const std::string& name,
                    const VisitUnpacked& visit) {
  try {
    return Unpacker(input.size(), visit).unpack({input, name, "", {}}, 0);
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::kLimit, "not enough memory to unpack this file", 0,
                 "Unpack it first and open the result."};
  }
}

}  // namespace tidegauge::readers::torch
