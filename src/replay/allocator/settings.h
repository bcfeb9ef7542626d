// The inputs of the caching allocator's decisions: PYTORCH_CUDA_ALLOC_CONF, the memory fraction,
// and differences between versions of PyTorch (docs/explain/replay.md).
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
    // from here on segments have the size of the request
    10 * kMiB;
inline constexpr uint64_t kSegmentStepBytes = 2 * kMiB;  // rounded up to a multiple of this
inline constexpr uint64_t kUnlimited = UINT64_MAX;

// Which of several free blocks of one size is used.
enum class TieBreak : uint8_t {
  kSegment,  // of the earliest segment, then by address (2.12 and later)
  kAddress,  // the lowest address
};

struct Settings {
  uint64_t max_split_bytes = kUnlimited;
  std::array<uint32_t, 16> roundup_divisions{};  // class i: [2^(20+i), 2^(21+i)) bytes; 0: none
  double gc_threshold = 0;                       // 0: off
  bool expandable = false;
  uint64_t large_segment_bytes = 20 * kMiB;
  uint64_t max_non_split_rounding_bytes = 20 * kMiB;
  std::optional<double> fraction{};  // of the device's memory; absent: never set
  TieBreak tie = TieBreak::kSegment;
  bool gc_needs_fraction_below_1 = true;  // false: any fraction that was set enables it (2.4)
  bool private_pools_expandable = true;   // false: cudaMalloc for private pools (2.4)
  // Private pools that have an allocator of their own (MemPool(allocator)), by OwnerIndex: what it
  // gives is neither expandable nor split as if it were. Ascending.
  std::vector<uint16_t> own_allocator_pools{};
  // The limit of reserved memory if the fraction, or the size of the device, is unknown: inferred
  // from a recording (limit.h).
  std::optional<uint64_t> limit_bytes{};
  // "KEY:VALUE" as written: settings without effect on allocations, and settings with effect that
  // are not simulated.
  std::vector<std::string> without_effect{}, not_simulated{};

  bool operator==(const Settings&) const = default;

  // The block size for a request. Requests are at most 1 EiB.
  uint64_t roundedBytes(uint64_t request_bytes) const;
  // The size passed to cudaMalloc for such a block.
  uint64_t segmentBytes(uint64_t rounded_bytes) const;
  // The limit of reserved memory; kUnlimited: none is set.
  uint64_t capBytes(uint64_t device_bytes) const;
};

// Parses a PYTORCH_CUDA_ALLOC_CONF string. Keys without effect on allocations (pinned_*,
// release_lock_on_cudamalloc) are skipped. An unknown key, a value that PyTorch would reject, or a
// setting that is not simulated (backend:cudaMallocAsync) is an error that names it, except for
// those in `known`, which are kept unchanged.
base::Result<Settings> parseConf(std::string_view conf, std::span<const std::string> known = {});
// Parses a recording's own string, which PyTorch accepted: unknown parts are not simulated.
Settings settingsIn(std::string_view conf);

// The reverse: the string for these settings; empty: PyTorch's defaults. Without the fraction if it
// equals `known_fraction`: the program sets that itself.
std::string confOf(const Settings& settings, std::optional<double> known_fraction = {});

inline uint64_t roundUp(uint64_t bytes, uint64_t step) { return (bytes + step - 1) / step * step; }

}  // namespace tidegauge::replay
