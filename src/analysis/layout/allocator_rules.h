// The caching allocator's rules of size, as one trace's settings make them.
//
//   request 5.2 MiB → block 5.2 MiB (next 512 B) → large pool → a new segment would be 20 MiB
//
// Source: CUDACachingAllocator get_pool, get_allocation_size, get_free_block, should_split. A file
// tells the settings as they were when it was written; without them PyTorch's defaults hold.
// What it leaves out (large_segment_size_mb, max_non_split_rounding_mb, the memory fraction) is
// read from PYTORCH_CUDA_ALLOC_CONF.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/trace.h"

namespace tidegauge::analysis {

// Who hands out a device's memory: that decides what may lie free, and what a request meets.
enum class AllocatorKind : uint8_t {
  kCaching,     // PyTorch's, of a GPU: the rules below
  kPinnedHost,  // PyTorch's, of pinned host memory: powers of two apart, nothing is split
  kDriver,      // none was seen: the program asks the driver, which keeps nothing free for it
};
AllocatorKind allocatorOf(const model::Device& device);
std::string_view name(AllocatorKind kind);  // "caching", "pinned_host", "driver"

struct AllocatorRules {
  explicit AllocatorRules(const model::AllocatorSettings& settings);

  uint64_t roundedBytes(uint64_t request_bytes) const;  // the least block that serves it
  bool isSmall(uint64_t rounded_bytes) const;           // small pool, else large pool
  uint64_t segmentBytes(uint64_t rounded_bytes) const;  // what cudaMalloc would be asked for
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
  std::optional<double> memory_fraction{};  // only if the conf says it

 private:
  const model::AllocatorSettings& settings_;
};

// Of a trace. Where the file tells no settings, its expandable segments do.
AllocatorRules rulesOf(const model::Trace& trace);

// The value that follows a key in PYTORCH_CUDA_ALLOC_CONF: ("a:1, b:2.5", "b") → 2.5. Absent if the
// key is, or if no number follows it.
std::optional<double> confNumber(std::string_view conf, std::string_view key);
// True if the conf names the key at all.
bool confNames(std::string_view conf, std::string_view key);
// Size of a segment for 1 to 10 MiB, and page of expandable segments of the large pool.
uint64_t largeSegmentBytes(const model::AllocatorSettings& settings);

}  // namespace tidegauge::analysis
