// ModelDriver: a device of a given size that places allocations by a simple rule.
//
//   kLowest    [ a ][ c ][ b ]→      in the lowest gap that is large enough
//   kHighest   ←[ b ][ c ][ a ]      the same from above: later ones are lower
//   kRising    [ a ]     [ b ][ c ]→ never where something was
//
// Source: cudaMalloc's granularity is 2 MiB, and all requests of the allocator are multiples of it.
// The place only matters under TieBreak::kAddress; there, real drivers do none of these. Cost:
// O(gaps).
#pragma once

#include <map>

#include "replay/allocator/driver.h"

namespace tidegauge::replay {

enum class Placement : uint8_t { kLowest, kHighest, kRising };

class ModelDriver final : public Driver {
 public:
  // `base`: its first address; `used_bytes`: allocated before, below that.
  explicit ModelDriver(uint64_t capacity_bytes, uint64_t base = kBase, uint64_t used_bytes = 0,
                       Placement placement = Placement::kLowest)
      : capacity_bytes_(capacity_bytes),
        used_bytes_(used_bytes),
        placement_(placement),
        end_(base) {}

  std::unique_ptr<Driver> clone() const override { return std::make_unique<ModelDriver>(*this); }
  std::optional<uint64_t> malloc(uint64_t bytes) override;
  void free(uint64_t address, uint64_t bytes) override;
  uint64_t reserve(uint64_t bytes) override;
  void unreserve(uint64_t address, uint64_t bytes) override;
  bool map(uint64_t address, uint64_t bytes) override;
  void unmap(uint64_t bytes) override { used_bytes_ -= bytes; }
  uint64_t freeBytes() const override {
    return capacity_bytes_ > used_bytes_ ? capacity_bytes_ - used_bytes_ : 0;
  }
  // Gaps skipped in searches: a hostile file may leave very many that are too small.
  uint64_t searched() const { return searched_; }

  static constexpr uint64_t kBase = 0x700000000000;

 private:
  static constexpr uint64_t kTop = uint64_t{1}
                                   << 62;  // kHighest: [a, b) is stored as [kTop − b, kTop − a)
  uint64_t place(uint64_t bytes);

  uint64_t capacity_bytes_, used_bytes_;
  uint64_t searched_ = 0;
  Placement placement_;
  uint64_t end_;                       // nothing was placed from here on
  std::map<uint64_t, uint64_t> gaps_;  // below it: address → bytes
};

}  // namespace tidegauge::replay
