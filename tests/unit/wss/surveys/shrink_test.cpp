#include "wss/surveys/shrink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/wss/surveys/taken_cgroup.h"

namespace tidegauge::wss {
namespace {

using testing::HasSubstr;

TEST(Shrink, Ends) {
  ReclaimStep quiet{.before = 100 * kMiB, .taken = 5 * kMiB, .refaulted = 0, .after = 95 * kMiB};
  ReclaimStep back{
      .before = 95 * kMiB, .taken = 5 * kMiB, .refaulted = 4 * kMiB, .after = 94 * kMiB};
  ReclaimStep stuck{.before = 95 * kMiB, .taken = 4096, .refaulted = 0, .after = 95 * kMiB};
  ReclaimStep waits = quiet;
  waits.stalled_percent = 11;
  EXPECT_EQ(endOf({}, 10), ShrinkEnd::kGoesOn);
  EXPECT_EQ(endOf({quiet, quiet}, 10), ShrinkEnd::kGoesOn);
  EXPECT_EQ(endOf({quiet, back}, 10), ShrinkEnd::kGoesOn);  // once may be chance
  EXPECT_EQ(endOf({quiet, back, back}, 10), ShrinkEnd::kReached);
  EXPECT_EQ(endOf({quiet, stuck}, 10), ShrinkEnd::kNothingLeft);
  // Hardly anything can be reclaimed, and it refaults at once.
  ReclaimStep little{.before = 95 * kMiB, .taken = 4096, .refaulted = 8192, .after = 95 * kMiB};
  EXPECT_EQ(endOf({quiet, back, little}, 10), ShrinkEnd::kReached);
  ReclaimStep nothing{.before = 95 * kMiB, .taken = 0, .refaulted = 0, .after = 95 * kMiB};
  EXPECT_EQ(endOf({quiet, back, nothing}, 10), ShrinkEnd::kNothingLeft);
  EXPECT_EQ(endOf({quiet, waits}, 10), ShrinkEnd::kPressure);
  EXPECT_EQ(endOf({quiet, waits}, 11), ShrinkEnd::kGoesOn);
  // New memory replaced what was reclaimed: it did not shrink, though nothing refaulted.
  ReclaimStep grew = quiet;
  grew.after = 99 * kMiB;
  EXPECT_EQ(endOf({grew, grew}, 10), ShrinkEnd::kGrew);
  EXPECT_EQ(endOf({back, grew}, 10), ShrinkEnd::kGrew);
}

class ShrinkOfCgroup : public testing::Test, public TakenCgroup {
 protected:
  base::Result<Shrink> open() {
    auto opened = reclaimer();
    if (!opened.ok()) return opened.error();
    return Shrink(std::move(opened).value());
  }
};

TEST_F(ShrinkOfCgroup, TakesATwentiethAtATime) {
  auto shrink = open();
  ASSERT_TRUE(shrink.ok()) << shrink.error().what;
  EXPECT_TRUE(open().value().head(kWindow_ns).limits.size() == 1);
  auto row = shrink.value().next(clock_, kWindow_ns);
  ASSERT_TRUE(row.ok() && row.value());
  EXPECT_EQ(asked_, (std::vector<uint64_t>{5 * kMiB}));
  EXPECT_EQ(row.value()->fields["bytes"]["before"], 100 * kMiB);
  EXPECT_EQ(row.value()->fields["bytes"]["after"], 95 * kMiB);
}

TEST_F(ShrinkOfCgroup, WaitsNoLongerThanItMay) {
  wait_us_ = 30'000;  // in each tenth of a second
  auto shrink = open();
  auto row = shrink.value().next(clock_, kWindow_ns);
  ASSERT_TRUE(row.ok() && row.value());
  EXPECT_LE(clock_.slept, 4);  // of ten looks: 10 % of the window were over
  EXPECT_EQ(shrink.value().verdict().fields["end"], "pressure");
  EXPECT_TRUE(shrink.value().verdict().broken.has_value());
  EXPECT_THAT(shrink.value().verdict().text, HasSubstr("--max-pressure"));
  row = shrink.value().next(clock_, kWindow_ns);
  ASSERT_TRUE(row.ok());
  EXPECT_FALSE(row.value().has_value());
  EXPECT_EQ(asked_.size(), 1U);
}

// A step of 10 GiB is reclaimed in parts, so that it can be ended before it is complete.
TEST_F(ShrinkOfCgroup, TakesMuchInParts) {
  current_ = 200ULL << 30, touched_ = 0;
  tell();
  auto shrink = open();
  auto row = shrink.value().next(clock_, kWindow_ns);
  ASSERT_TRUE(row.ok() && row.value()) << row.error().what;
  EXPECT_EQ(asked_, (std::vector<uint64_t>{64 * kMiB}));  // the last of them, in this file
}

TEST_F(ShrinkOfCgroup, SaysThatThereIsNoSwap) {
  sys_.write("/proc/swaps", "Filename Type Size Used Priority\n");
  EXPECT_EQ(open().value().head(kWindow_ns).limits.size(), 2U);
}

TEST_F(ShrinkOfCgroup, RefusesWhatItMayNotTake) {
  auto whyNot = [&](const std::string& path) {
    auto opened = Reclaimer::open(MemoryScope::ofCgroup(path, sys_.root()), 10);
    return opened.ok() ? std::string("it may") : opened.error().what;
  };
  EXPECT_THAT(whyNot(""), HasSubstr("version 2"));
  EXPECT_THAT(whyNot("/"), HasSubstr("version 2"));
  EXPECT_THAT(whyNot("/nowhere"), HasSubstr("there is no cgroup /nowhere"));
  sys_.write("/sys/fs/cgroup/old/cgroup.procs", "");
  EXPECT_THAT(whyNot("/old"), HasSubstr("no memory.reclaim"));
  sys_.write("/proc/self/cgroup", "0::/shop/inner\n");
  EXPECT_THAT(whyNot("/shop"), HasSubstr("this program is in cgroup /shop itself"));
  sys_.write("/proc/self/cgroup", "0::/shopping\n");
  EXPECT_EQ(whyNot("/shop"), "it may");
  std::filesystem::remove(sys_.at(kTakenFolder + "memory.pressure"));
  EXPECT_THAT(whyNot("/shop"), HasSubstr("does not report how long it waits"));
}

TEST_F(ShrinkOfCgroup, ThatGoesAway) {
  auto shrink = open();
  std::filesystem::remove(sys_.at(kTakenFolder + "memory.current"));
  auto row = shrink.value().next(clock_, kWindow_ns);
  ASSERT_FALSE(row.ok());
  EXPECT_THAT(row.error().what, HasSubstr("was removed"));
}

}  // namespace
}  // namespace tidegauge::wss
