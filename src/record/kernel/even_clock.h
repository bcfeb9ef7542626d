// EvenClock: times since the epoch that advance evenly. The wall clock is read once; after that,
// only CLOCK_MONOTONIC counts, so a step of the wall clock (by hand, by NTP) cannot make an event
// end before it began. The price: steps are not followed.
//
//   evenClock().now_ns()              1,700,000,000,000,000,000
//   evenClock().ofKernel_ns(ktime)    the same time from what a BPF program read
//
// Cost: one clock_gettime().
#pragma once

#include <time.h>

#include <cstdint>

namespace tidegauge::record {

class EvenClock {
 public:
  using Read = uint64_t (*)(clockid_t);
  static uint64_t ofSystem_ns(clockid_t clock);
  explicit EvenClock(Read read = ofSystem_ns);

  int64_t now_ns() const { return of_ns(read_(CLOCK_MONOTONIC)); }
  // For CLOCK_MONOTONIC as this process and its children see it.
  int64_t of_ns(uint64_t monotonic_ns) const {
    return static_cast<int64_t>(monotonic_ns) + epoch_offset_ns_;
  }
  // For CLOCK_MONOTONIC as the kernel sees it: it differs in a time namespace.
  int64_t ofKernel_ns(uint64_t kernel_ns) const {
    return of_ns(kernel_ns + static_cast<uint64_t>(namespace_offset_ns_));
  }
  uint64_t kernelNow_ns() const {
    return read_(CLOCK_MONOTONIC) - static_cast<uint64_t>(namespace_offset_ns_);
  }

 private:
  Read read_;
  int64_t epoch_offset_ns_ = 0;
  int64_t namespace_offset_ns_ = 0;
};

// The clock of this process, read on first use.
const EvenClock& evenClock();

}  // namespace tidegauge::record
