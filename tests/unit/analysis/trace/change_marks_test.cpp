// Marks of changes: equal where the changes are, whatever their order; different where they differ.
#include "analysis/trace/change_marks.h"

#include <gtest/gtest.h>

#include <vector>

namespace tidegauge::analysis {
namespace {

struct Change {
  uint32_t step;
  uint64_t bytes;
};

uint64_t markOf(const std::vector<Change>& changes) {
  uint64_t mark = 0;
  for (const Change& change : changes) mark += change.bytes * markWeight(change.step);
  return mark;
}

TEST(ChangeMarks, DoNotDependOnTheOrderOfChanges) {
  EXPECT_EQ(markOf({{3, 512}, {9, 1024}, {9, 0 - uint64_t{512}}}), markOf({{9, 512}, {3, 512}}));
}

// The sums of these are equal, and so are those of bytes × step.
TEST(ChangeMarks, DifferIfAStepDiffers) {
  uint64_t loss = 0 - uint64_t{512};
  EXPECT_NE(markOf({{3, 512}}), markOf({{4, 512}}));
  EXPECT_NE(markOf({{3, 512}, {4, loss}, {5, loss}, {6, 512}}), markOf({}));
  for (uint32_t step = 0; step + 1 < 3 * kMarkSteps; ++step)
    EXPECT_NE(markOf({{step, 512}, {step + 1, loss}}), 0U) << step;
}

}  // namespace
}  // namespace tidegauge::analysis
