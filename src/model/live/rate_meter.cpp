#include "model/live/rate_meter.h"

#include <algorithm>

namespace tidegauge::model {

void RateMeter::addTo(int64_t slot, double count) {
  if (slot > last_) {
    int64_t passed = std::min(slot - last_, kSlots);
    for (int64_t i = 0; i < passed; ++i) counts_[static_cast<size_t>((slot - i) % kSlots)] = 0;
    last_ = slot;
  }
  if (slot > last_ - kSlots) counts_[static_cast<size_t>(slot % kSlots)] += count;
}

void RateMeter::add(int64_t begin_ns, int64_t end_ns, double count) {
  begin_ns = std::max<int64_t>(0, begin_ns);
  end_ns = std::max(begin_ns, end_ns);
  if (begin_ns == end_ns) {
    addTo(begin_ns / kSlot_ns, count);
    return;
  }
  auto span = static_cast<double>(end_ns - begin_ns);
  int64_t last = (end_ns - 1) / kSlot_ns;
  for (int64_t slot = std::max(begin_ns / kSlot_ns, last - kSlots + 1); slot <= last; ++slot) {
    int64_t from = std::max(begin_ns, slot * kSlot_ns);
    int64_t to = slot * kSlot_ns + std::min(end_ns - slot * kSlot_ns, kSlot_ns);
    addTo(slot, count * static_cast<double>(to - from) / span);
  }
}

void RateMeter::add(const RateMeter& other) {
  for (int64_t slot = std::max<int64_t>(0, other.last_ - kSlots + 1); slot <= other.last_; ++slot)
    addTo(slot, other.counts_[static_cast<size_t>(slot % kSlots)]);
}

double RateMeter::perSecond(int64_t until_ns, int64_t since_ns) const {
  int64_t end = std::max<int64_t>(0, until_ns) / kSlot_ns;  // completed slots
  int64_t begin = std::max(end - kWindow_ns / kSlot_ns, std::max<int64_t>(0, since_ns) / kSlot_ns);
  if (begin >= end) return 0;
  double sum = 0;
  for (int64_t slot = std::max(begin, last_ - kSlots + 1); slot < std::min(end, last_ + 1); ++slot)
    sum += counts_[static_cast<size_t>(slot % kSlots)];
  return sum / (static_cast<double>((end - begin) * kSlot_ns) / 1e9);
}

}  // namespace tidegauge::model
