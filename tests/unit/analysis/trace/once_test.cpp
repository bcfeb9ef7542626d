#include "analysis/trace/once.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "analysis/growth/growth.h"
#include "analysis/identities.h"
#include "support/messy_trace.h"

namespace tidegauge::analysis {
namespace {

TEST(Once, ComputesForTheFirstOfManyCallers) {
  Once<int> value;
  std::atomic<int> computed = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] { EXPECT_EQ(value.get([&] { return ++computed; }), 1); });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(computed, 1);
}

TEST(Once, TriesAgainAfterAFailure) {
  Once<int> value;
  EXPECT_THROW(value.get([]() -> int { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_EQ(value.get([] { return 7; }), 7);
}

TEST(Once, KeepsTheGrowthAndTheIdentitiesOfEachDeviceApart) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    AnalysedTrace trace(testing::messyTrace({.seed = seed}));
    AnalysedTrace fresh(testing::messyTrace({.seed = seed}));
    for (size_t again = 0; again < 2; ++again) {
      for (size_t d = trace.devices.size(); d-- > 0;) {
        auto kept = identitiesOf(trace, *trace.devices[d]);
        auto computed = identitiesOf(fresh, *fresh.devices[d]);
        ASSERT_EQ(kept.size(), computed.size());
        for (size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i].text, computed[i].text);
        EXPECT_EQ(findGrowth(trace, *trace.devices[d]).points.steps,
                  findGrowth(fresh, *fresh.devices[d]).points.steps);
      }
    }
  }
}

}  // namespace
}  // namespace tidegauge::analysis
