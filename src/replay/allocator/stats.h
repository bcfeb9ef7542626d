// The counts of torch.cuda.memory_stats(): for each quantity its current value, its peak, and both
// running sums, for all, the small and the large pools. Names and rules as in PyTorch
// (CUDACachingAllocator, StatArray).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tidegauge::replay {

// A hostile file may repeat 2^62 bytes: the sums are meaningless then, but must not be undefined.
inline int64_t wrappingSum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
// −bytes.
inline int64_t minus(uint64_t bytes) { return static_cast<int64_t>(uint64_t{0} - bytes); }

struct Stat {
  int64_t current = 0, peak = 0, allocated = 0, freed = 0;
  void add(int64_t delta) {
    current = wrappingSum(current, delta);
    peak = std::max(peak, current);
    int64_t& sum = delta > 0 ? allocated : freed;
    sum = wrappingSum(sum, delta > 0 ? delta : wrappingSum(~delta, 1));
  }
  void beginAnew() { *this = {current, current, 0, 0}; }
};

struct StatOfKinds {
  Stat all{}, small{}, large{};
  // Several times per event. The compiler leaves it as a call where a folder is compiled as one.
  [[gnu::always_inline]] void add(bool is_small, int64_t delta) {
    all.add(delta);
    (is_small ? small : large).add(delta);
  }
};

enum class Quantity : uint8_t {
  kAllocation,
  kAllocatedBytes,
  kActive,
  kActiveBytes,
  kRequestedBytes,
  kInactiveSplit,
  kInactiveSplitBytes,
  kReservedBytes,
  kSegment,
  kCount,
};
std::string_view name(Quantity quantity);  // "allocation", "allocated_bytes", …

struct Stats {
  std::array<StatOfKinds, static_cast<size_t>(Quantity::kCount)> of{};
  std::vector<StatOfKinds> reserved_of_owner;  // private pools, by OwnerIndex
  Stat oversize_allocations, oversize_segments;
  uint64_t retries = 0, ooms = 0, syncs = 0, driver_allocs = 0, driver_frees = 0;

  // Keeps current values; peaks and sums restart here.
  void beginAnew();

  StatOfKinds& operator[](Quantity quantity) { return of[static_cast<size_t>(quantity)]; }
  const StatOfKinds& operator[](Quantity quantity) const {
    return of[static_cast<size_t>(quantity)];
  }
};

}  // namespace tidegauge::replay
