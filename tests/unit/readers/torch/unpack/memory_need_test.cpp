#include "readers/torch/unpack/memory_need.h"

#include <gtest/gtest.h>

namespace tidegauge::readers::torch {
namespace {

constexpr uint64_t kGib = uint64_t{1} << 30;

TEST(MemoryNeed, IsSaidBeforeALongFileThatMayNotFit) {
  EXPECT_TRUE(isShortOfMemory(5 * kGib, true, 3 * kGib));
  EXPECT_FALSE(isShortOfMemory(5 * kGib, true, 6 * kGib));
  EXPECT_FALSE(isShortOfMemory(kGib / 100, true, 0));
}

TEST(MemoryNeed, IsLessForEventsAlone) {
  EXPECT_TRUE(isShortOfMemory(5 * kGib, true, 7 * kGib / 2));
  EXPECT_FALSE(isShortOfMemory(5 * kGib, false, 7 * kGib / 2));
}

}  // namespace
}  // namespace tidegauge::readers::torch
