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
  explicit ModelDriver(uint64_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

  std::unique_ptr<Driver> clone() const override { return std::make_unique<ModelDriver>(*this); }
  std::optional<uint64_t> malloc(uint64_t bytes) override;
  void free(uint64_t address, uint64_t bytes) override;
  uint64_t reserve(uint64_t bytes) override;
  void unreserve(uint64_t address, uint64_t bytes) override;
  bool map(uint64_t address, uint64_t bytes) override;
  void unmap(uint64_t bytes) override { used_bytes_ -= bytes; }
  uint64_t freeBytes() const override { return capacity_bytes_ - used_bytes_; }

 private:
  static constexpr uint64_t kBase = 0x700000000000;

  uint64_t capacity_bytes_, used_bytes_ = 0;
  uint64_t end_ = kBase;               // nothing was placed from here on
  std::map<uint64_t, uint64_t> gaps_;  // below it: address → bytes
};

}  // namespace tidegauge::replay
