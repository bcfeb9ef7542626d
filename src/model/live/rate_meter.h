// RateMeter: rate per second over the last five seconds. A count over a period is spread evenly
// over it.
//
//   meter.add(t, t + 1 s, 400); meter.add(t + 1 s, t + 2 s, 600); meter.perSecond(t + 2 s, t) → 500
//
// Cost: 272 bytes; O(slots) per call, at most 32.
#pragma once

#include <array>
#include <cstdint>

namespace tidegauge::model {

class RateMeter {
 public:
  static constexpr int64_t kWindow_ns = 5'000'000'000;

  // Counts within [begin_ns, end_ns]; equal times mean one moment.
  void add(int64_t begin_ns, int64_t end_ns, double count);
  void add(const RateMeter& other);
  // Over the window that ends at until_ns, or since since_ns if that is shorter.
  double perSecond(int64_t until_ns, int64_t since_ns) const;

 private:
  static constexpr int64_t kSlot_ns = 250'000'000;
  static constexpr int64_t kSlots = 32;  // three seconds more than the window: counts arrive late
  void addTo(int64_t slot, double count);

  std::array<double, kSlots> counts_{};
  int64_t last_ = 0;  // newest slot
};

}  // namespace tidegauge::model
