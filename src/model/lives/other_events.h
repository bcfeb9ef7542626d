// The events that are not of a block: segments, snapshots, failures, annotations. They are few
// among millions of allocs and frees.
//
//   [alloc][free_requested][free_completed][alloc] … [oom] …    eight actions at once are skipped
//
//   forEachOther(trace.events, device, [&](uint64_t event) { … });   in order
//
// Cost: 0.2 ns per event that is skipped.
#pragma once

#include <cstring>

#include "model/trace.h"

namespace tidegauge::model {

template <class F>
void forEachOther(const Events& events, const Device& device, F&& f) {
  static_assert(static_cast<uint8_t>(Action::kFree) == 3, "actions of blocks fit two bits");
  constexpr uint64_t kOtherBits = 0xfcfcfcfcfcfcfcfcU;
  const Action* action = events.action.data();
  uint64_t event = device.event_begin, end = device.event_end;
  while (event < end) {
    uint64_t next = event + 8 < end ? event + 8 : end;
    uint64_t eight = kOtherBits;
    if (next - event == 8) std::memcpy(&eight, action + event, 8);
    if ((eight & kOtherBits) == 0) {
      event = next;
      continue;
    }
    for (; event < next; ++event) {
      if (action[event] > Action::kFree) f(event);
    }
  }
}

}  // namespace tidegauge::model
