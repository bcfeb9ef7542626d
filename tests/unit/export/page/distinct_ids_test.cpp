#include "export/page/distinct_ids.h"

#include <gtest/gtest.h>

namespace tidegauge::exporting {
namespace {

TEST(DistinctIds, EachOnceInOrder) {
  DistinctIds ids;
  for (uint32_t id : {3, 1, 3, 1, 7}) ids.add(id);
  EXPECT_EQ(ids.take(), (std::vector<uint32_t>{1, 3, 7}));
  EXPECT_TRUE(ids.take().empty());
}

TEST(DistinctIds, RepetitionTakesNoRoomAndOrderIsMadeSeldom) {
  constexpr uint32_t kLeast = 1000, kDistinct = 3 * kLeast / 2;
  DistinctIds ids(kLeast);
  for (int round = 0; round < 4; ++round) {
    for (uint32_t id = 0; id < kDistinct; ++id) ids.add(kDistinct - id);
  }
  EXPECT_LE(ids.sorts(), 4u) << "each time it doubled, not for every id above the least";
  EXPECT_GE(ids.sorts(), 2u) << "what came again was thrown away on the way";
  EXPECT_EQ(ids.take().size(), kDistinct);
}

}  // namespace
}  // namespace tidegauge::exporting
