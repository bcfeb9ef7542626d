#include "record/kernel/even_clock.h"

#include <fstream>
#include <string>

namespace tidegauge::record {
namespace {

// "monotonic  100000  0", seconds and ns.
int64_t namespaceOffset() {
  std::ifstream file("/proc/self/timens_offsets");
  std::string clock;
  int64_t whole = 0, ns = 0;
  while (file >> clock >> whole >> ns)
    if (clock == "monotonic") return whole * 1'000'000'000 + ns;
  return 0;
}

}  // namespace

uint64_t EvenClock::ofSystem_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

// The offset between the two clocks, from the closest pair of several readings.
EvenClock::EvenClock(Read read) : read_(read), namespace_offset_ns_(namespaceOffset()) {
  uint64_t closest = ~uint64_t{0};
  for (int i = 0; i < 5; ++i) {
    uint64_t before = read_(CLOCK_MONOTONIC), epoch = read_(CLOCK_REALTIME);
    uint64_t after = read_(CLOCK_MONOTONIC);
    if (after - before >= closest) continue;
    closest = after - before;
    epoch_offset_ns_ = static_cast<int64_t>(epoch) - static_cast<int64_t>(before + closest / 2);
  }
}

const EvenClock& evenClock() {
  static const EvenClock clock;
  return clock;
}

}  // namespace tidegauge::record
