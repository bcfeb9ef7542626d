// The size rules of the caching allocator, under the settings of one trace.
//
//   request 5.2 MiB → block 5.2 MiB (next 512 B) → large pool → a new segment would be 20 MiB
//
// Source: CUDACachingAllocator get_pool, get_allocation_size, get_free_block, should_split. A file
// contains the settings at the time of writing; without them, PyTorch's defaults apply. Settings
// that it lacks (large_segment_size_mb, max_non_split_rounding_mb, the memory fraction) are read
// from PYTORCH_CUDA_ALLOC_CONF.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/trace.h"

namespace tidegauge::analysis {

// Which allocator serves a device's memory: this decides what can be free, and where a request is
// served.
enum class AllocatorKind : uint8_t {
  kCaching,     // PyTorch's, for a GPU: the rules below
  kPinnedHost,  // PyTorch's, for pinned host memory: power-of-two size classes, no splitting
  // no allocator was seen: the program calls the driver, which keeps nothing free for it
  kDriver,
};
AllocatorKind allocatorOf(const model::Device& device);
std::string_view name(AllocatorKind kind);  // "caching", "pinned_host", "driver"

struct AllocatorRules {
  explicit AllocatorRules(const model::AllocatorSettings& settings);

  uint64_t roundedBytes(uint64_t request_bytes) const;  // the smallest block that serves it
  bool isSmall(uint64_t rounded_bytes) const;           // small pool, else large pool
  // the size that cudaMalloc would be called with
  uint64_t segmentBytes(uint64_t rounded_bytes) const;
  uint64_t pageBytes(bool small) const { return small ? kSmallSegmentBytes : large_segment_bytes; }
  // Large enough, and not too large for the oversize rules (max_split_size).
  bool allows(uint64_t rounded_bytes, uint64_t block_bytes) const;
  // The largest request whose rounded size is at most that; 0 if there is none.
  uint64_t largestRequest(uint64_t block_bytes) const;

  static constexpr uint64_t kSmallSegmentBytes = uint64_t{2} << 20;
  bool expandable = false;
  uint64_t max_split_bytes = model::kUnknownBytes;  // kUnknownBytes = unlimited
  uint64_t large_segment_bytes = uint64_t{20} << 20;
  uint64_t max_non_split_rounding_bytes = uint64_t{20} << 20;
  std::optional<double> gc_threshold{};     // absent or 0: off
  std::optional<double> memory_fraction{};  // only if the conf sets it

 private:
  const model::AllocatorSettings& settings_;
};

// Expandable segments were requested, but they are not in effect: the platform lacks them.
bool lacksExpandable(const model::AllocatorSettings& settings);

// If the file has no settings, its segments show whether they are expandable.
AllocatorRules rulesOf(const model::Trace& trace);

// The value after a key in PYTORCH_CUDA_ALLOC_CONF: ("a:1, b:2.5", "b") → 2.5. Absent if the key is
// missing or no number follows it.
std::optional<double> confNumber(std::string_view conf, std::string_view key);
// The text after a key, to the next comma, without spaces; empty if the key is missing.
std::string_view confValue(std::string_view conf, std::string_view key);
// Its items: "a:1, b:[256:1,512:2]" → "a:1", "b:[256:1,512:2]".
std::vector<std::string> confItems(std::string_view conf);
// `own` with the items of `change`: each replaces the item of its key, and "key:" removes it.
// expandable_segments:True and max_split_size_mb remove each other, because they conflict.
std::string changedConf(std::string_view own, std::string_view change);
// True if the conf contains the key.
bool confNames(std::string_view conf, std::string_view key);
// Size of a segment for 1 to 10 MiB, and page of expandable segments of the large pool.
uint64_t largeSegmentBytes(const model::AllocatorSettings& settings);

}  // namespace tidegauge::analysis
