// The driver of a verification: it returns the addresses of the trace.
//
//   size of the device known     everything that fits succeeds
//   … unknown, or no explanation (others held a part of it)     what succeeded in the trace
#pragma once

#include "replay/verifier.h"

namespace tidegauge::replay {

class RecordedDriver final : public Driver {
 public:
  RecordedDriver(const Verifier& verifier, std::optional<uint64_t> capacity_bytes,
                 uint64_t used_bytes)
      : verifier_(&verifier), capacity_bytes_(capacity_bytes), used_bytes_(used_bytes) {}

  std::unique_ptr<Driver> clone() const override { return std::make_unique<RecordedDriver>(*this); }
  std::optional<uint64_t> malloc(uint64_t bytes) override {
    if (!gives(bytes)) return std::nullopt;
    return verifier_->addressNow();
  }
  void free(uint64_t, uint64_t bytes) override { used_bytes_ -= bytes; }
  uint64_t reserve(uint64_t) override { return verifier_->addressNow(); }
  void unreserve(uint64_t, uint64_t) override {}
  bool map(uint64_t, uint64_t bytes) override { return gives(bytes); }
  void unmap(uint64_t bytes) override { used_bytes_ -= bytes; }
  uint64_t freeBytes() const override {
    return verifier_->addressNow();
  }  // for an oom: its address

 private:
  bool gives(uint64_t bytes) {
    if (capacity_bytes_ && used_bytes_ + bytes > *capacity_bytes_) return false;
    bool must_match = !capacity_bytes_ || verifier_->refusesAsRecorded();
    if (must_match && !verifier_->givesNow()) return false;
    used_bytes_ += bytes;
    return true;
  }

  const Verifier* verifier_;
  std::optional<uint64_t> capacity_bytes_;
  uint64_t used_bytes_;
};

}  // namespace tidegauge::replay
