// forEachOther() skips eight actions at a time: compared with a look at each.
#include "model/lives/other_events.h"

#include <gtest/gtest.h>

#include <random>

namespace tidegauge::model {
namespace {

TEST(OtherEvents, AreThoseThatALookAtEachFinds) {
  std::mt19937 random(7);
  for (uint64_t events = 0; events < 60; ++events) {
    Trace trace;
    for (uint64_t i = 0; i < events + 5; ++i) {
      bool is_other = random() % 9 == 0;
      trace.events.action.push_back(
          static_cast<Action>(is_other ? 4 + random() % 20 : random() % 4));
    }
    Device device;
    device.event_begin = random() % 5;
    device.event_end = device.event_begin + events;
    std::vector<uint64_t> expected, found;
    for (uint64_t event = device.event_begin; event < device.event_end; ++event) {
      if (trace.events.action[event] > Action::kFree) expected.push_back(event);
    }
    forEachOther(trace.events, device, [&](uint64_t event) { found.push_back(event); });
    EXPECT_EQ(found, expected) << events;
  }
}

}  // namespace
}  // namespace tidegauge::model
