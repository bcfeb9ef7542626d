// What decides how the caching allocator answers: PYTORCH_CUDA_ALLOC_CONF, the memory fraction, and
// what differs between versions of PyTorch (docs/explain/replay.md).
//
//   "max_split_size_mb:128,roundup_power2_divisions:[256:1,512:2,>:8]"  →  Settings
//
// Source: CUDACachingAllocator, AcceleratorAllocatorConfig::parseArgs; versions 2.1 to 2.15.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/block_size.h"

namespace tidegauge::replay {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kMinBlockBytes = model::kMinBlockBytes;   // all are a multiple of it
inline constexpr uint64_t kSmallBytes = model::kSmallRequestBytes;  // at most: the small pool
inline constexpr uint64_t kSmallSegmentBytes = 2 * kMiB;
inline constexpr uint64_t kMinExactSegmentBytes =
    10 * kMiB;                                           // from here on segments fit the request
inline constexpr uint64_t kSegmentStepBytes = 2 * kMiB;  // and are a multiple of this
inline constexpr uint64_t kUnlimited = UINT64_MAX;

// Which of several free blocks of one size is taken.
enum class TieBreak : uint8_t {
  kSegment,  // of the segment that came first, then by address (2.12 and later)
  kAddress,  // the lowest address
};

struct Settings {
  uint64_t max_split_bytes = kUnlimited;
  std::array<uint32_t, 16> roundup_divisions{};  // class i: [2^(20+i), 2^(21+i)) bytes; 0: none
  double gc_threshold = 0;                       // 0: off
  bool expandable = false;
  uint64_t large_segment_bytes = 20 * kMiB;
  uint64_t max_non_split_rounding_bytes = 20 * kMiB;
  std::optional<double> fraction{};  // of the device's memory; not set: never said
  TieBreak tie = TieBreak::kSegment;
  bool gc_needs_fraction_below_1 = true;  // false: any fraction that was said arms it (2.4)
  bool private_pools_expandable = true;   // false: cudaMalloc for private pools (2.4)
  // What reserved memory may not exceed where the fraction, or what it is of, is not told: found
  // out from a recording (limit.h).
  std::optional<uint64_t> limit_bytes{};
  // "KEY:VALUE" as they were written: what changes nothing that is handed out, and what does and is
  // not simulated.
  std::vector<std::string> without_effect{}, not_simulated{};

  bool operator==(const Settings&) const = default;

  // The block that serves a request. Requests are at most 1 EiB.
  uint64_t roundedBytes(uint64_t request_bytes) const;
  // What cudaMalloc is asked for, for such a block.
  uint64_t segmentBytes(uint64_t rounded_bytes) const;
  // What reserved memory may not exceed; kUnlimited: nothing is said.
  uint64_t capBytes(uint64_t device_bytes) const;
};

// Of a string as PYTORCH_CUDA_ALLOC_CONF has it. Keys that do not change what is handed out
// (pinned_*, release_lock_on_cudamalloc) are passed over; an unknown one, a value that PyTorch
// would refuse, or one that is not simulated (backend:cudaMallocAsync) is an error that names it,
// but for those of `known`, which are kept as they are.
base::Result<Settings> parseConf(std::string_view conf, std::span<const std::string> known = {});
// Of a recording's own string, which PyTorch took: what is not understood in it is not simulated.
Settings settingsIn(std::string_view conf);

// The other way: what has to be written for these settings; empty: nothing, they are PyTorch's
// defaults. Without the fraction where it is `known_fraction`: the program sets that itself.
std::string confOf(const Settings& settings, std::optional<double> known_fraction = {});

inline uint64_t roundUp(uint64_t bytes, uint64_t step) { return (bytes + step - 1) / step * step; }

}  // namespace tidegauge::replay
