// ModelDriver: a device of a given size whose addresses are the lowest that fit, in steps of 2 MiB.
//
// Source: what the driver of a GPU is seen to do with sizes (cudaMalloc's granularity is 2 MiB; all that the
// allocator asks for is a multiple of it). Where it places them matters under TieBreak::kAddress alone.
// Cost: O(gaps) for each.
#pragma once

#include <map>

#include "replay/driver.h"

namespace tidegauge::replay {

class ModelDriver final : public Driver {
 public:
  // `base`: the first address that it gives; `used_bytes`: what it gave before, below that.
  explicit ModelDriver(uint64_t capacity_bytes, uint64_t base = kBase, uint64_t used_bytes = 0)
      : capacity_bytes_(capacity_bytes), used_bytes_(used_bytes), end_(base) {}

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

  static constexpr uint64_t kBase = 0x700000000000;

 private:
  uint64_t capacity_bytes_, used_bytes_;
  uint64_t end_;                       // nothing was placed from here on
  std::map<uint64_t, uint64_t> gaps_;  // below it: address → bytes
};

}  // namespace tidegauge::replay
