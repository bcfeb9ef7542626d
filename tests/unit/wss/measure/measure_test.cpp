#include "wss/measure/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/wss/fake_proc.h"
#include "unit/wss/fake_sys.h"
#include "wss/measure/grouping.h"
#include "wss/words/row_text.h"

namespace tidegauge::wss {
namespace {

MappingUse use(uint64_t start, uint64_t rss, uint64_t referenced, const char* path = "",
               MappingKind kind = MappingKind::kAnonymous) {
  MappingUse one;
  one.mapping.start = start;
  one.mapping.end = start + rss;
  one.mapping.path = path;
  one.mapping.kind = kind;
  one.sums.rss = rss;
  one.sums.referenced = referenced;
  return one;
}

// Cleared in 200 ns, read in 20: low addresses were watched for longer.
Row slowAndFast() {
  Clearing clearing{{0, 200}, {}};
  Reading reading{
      {1000, 1020}, {}, {use(0, 100, 100, "/a"), use(4096, 300, 0), use(9000, 100, 50, "/a")}};
  return rowOf(clearing, std::move(reading), 800);
}

TEST(RowOf, EachMappingHasItsOwnWindow) {
  Row row = slowAndFast();
  ASSERT_EQ(row.windows.size(), 3U);
  // The first fifth: from 0..40 to 1000..1004.
  EXPECT_EQ(row.windows[0].most_ns, 1000);
  EXPECT_EQ(row.windows[0].least_ns, 964);
  EXPECT_EQ(row.windows[0].mean_ns, 982);
  // The last fifth: from 160..200 to 1016..1020.
  EXPECT_EQ(row.windows[2].most_ns, 856);
  EXPECT_EQ(row.windows[2].least_ns, 820);
  EXPECT_EQ(row.window.most_ns, 1000);
  EXPECT_EQ(row.window.least_ns, 820);
  EXPECT_EQ(row.window.mean_ns, (982 * 100 + 838 * 50) / 150);  // of the touched memory
  EXPECT_EQ(row.estimate_ns, 1020 - 100 - 10);                  // from middle to middle
  EXPECT_EQ(row.sums.rss, 500U);
  EXPECT_EQ(row.sums.referenced, 150U);
}

TEST(RowOf, NothingThereAndNothingTouched) {
  Row row = rowOf({{0, 10}, {}}, {{100, 110}, {}, {use(0, 0, 0)}}, 80);
  EXPECT_EQ(row.window.mean_ns, 100);
  EXPECT_EQ(row.windows[0].mean_ns, 100);
}

// For example by frames of memory: the time at which each mapping was visited is unknown.
TEST(RowOf, PassesInAnotherOrder) {
  Reading reading{{1000, 1020}, {}, {use(0, 100, 100), use(4096, 300, 0)}};
  reading.in_order = false;
  Row row = rowOf({{0, 200}, {}}, std::move(reading), 800);
  for (const Window& window : {row.window, row.windows[0], row.windows[1]}) {
    EXPECT_EQ(window.least_ns, 820);
    EXPECT_EQ(window.most_ns, 1000);
    EXPECT_EQ(window.mean_ns, 910);
  }
  EXPECT_THAT(rowNotes(row, {}), testing::Not(testing::HasSubstr("--by vma")));
  EXPECT_THAT(rowNotes(slowAndFast(), {.columns = 200}),
              testing::HasSubstr("--by vma shows the window of each mapping"));
}

// Independent of the time of the request: DAMON's window is its own interval.
TEST(RowOf, AKernelThatWatchesOnItsOwn) {
  Reading reading{{5000, 5000}, {}, {use(0, 100, 100), use(4096, 300, 0)}};
  reading.watched_ns = 700;
  Row row = rowOf({{0, 0}, {}}, std::move(reading), 800);
  EXPECT_FALSE(row.knows_error);
  for (const Window& window : {row.window, row.windows[0], row.windows[1]}) {
    EXPECT_EQ(window.least_ns, 700);
    EXPECT_EQ(window.mean_ns, 700);
    EXPECT_EQ(window.most_ns, 700);
  }
}

TEST(GroupsOf, AddUpToTheRow) {
  Row row = slowAndFast();
  for (Grouping grouping : {Grouping::kMapping, Grouping::kFile, Grouping::kKind}) {
    MappingSums sums;
    uint64_t mappings = 0;
    for (const Group& group : groupsOf(row, grouping)) {
      sums.add(group.sums);
      mappings += group.mappings;
    }
    EXPECT_EQ(sums.rss, row.sums.rss);
    EXPECT_EQ(sums.referenced, row.sums.referenced);
    EXPECT_EQ(mappings, 3U);
  }
  auto files = groupsOf(row, Grouping::kFile);
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].name, "/a");
  EXPECT_EQ(files[0].mappings, 2U);
  EXPECT_EQ(files[0].end, 0U);
  EXPECT_EQ(files[0].window.least_ns, 820);
  EXPECT_EQ(files[0].window.most_ns, 1000);
  EXPECT_EQ(files[0].window.mean_ns, row.window.mean_ns);
  EXPECT_EQ(files[1].window.mean_ns, (row.windows[1].least_ns + row.windows[1].most_ns) / 2);
}

// Counts its calls.
class CountingBackend final : public Backend {
 public:
  CountingBackend() : Backend({.glances = true}) {}
  base::Status glance(const Process&, Clock&) override {
    glances += 1;
    return base::okStatus();
  }
  std::string_view name() const override { return "counting"; }
  std::string how() const override { return {}; }
  std::vector<std::string> limits() const override { return {}; }
  base::Result<Clearing> clear(const Process&, Clock& clock) override {
    clears += 1;
    Clearing done{{clock.now_ns(), clock.now_ns()}, {5, 7}};
    return done;
  }
  base::Result<Reading> read(const Process&, Clock& clock) override {
    reads += 1;
    if (reads == fails_at) return base::Error{base::ErrorKind::kUnreadable, "gone", {}, {}};
    Reading done{{clock.now_ns(), clock.now_ns()}, {3, 0}, {}};
    if (static_cast<size_t>(reads) <= uses.size()) done.uses = uses[static_cast<size_t>(reads) - 1];
    return done;
  }
  std::vector<std::vector<MappingUse>> uses;  // of the first readings
  int clears = 0, reads = 0, glances = 0, fails_at = 0;
};

class Measure : public testing::Test {
 protected:
  base::Status run(const Plan& plan) {
    auto process = Process::open(423, proc_.root());
    return measure(process.value(), backend, plan, clock, [&](const Row& row) {
      rows.push_back(row);
      return rows.size() < most;
    });
  }
  FakeProc proc_;
  CountingBackend backend;
  FakeClock clock{0};
  std::vector<Row> rows;
  size_t most = 100;
};

TEST_F(Measure, AProfileClearsOnceAndPaysForItOnce) {
  ASSERT_TRUE(run({.course = Course::kProfile, .duration_ns = 10, .steps = 6}).ok());
  EXPECT_EQ(backend.clears, 1);
  ASSERT_EQ(rows.size(), 6U);
  int64_t wanted_ns = 10;
  for (const Row& row : rows) {
    EXPECT_EQ(row.window.mean_ns, wanted_ns);
    wanted_ns *= 2;
  }
  EXPECT_EQ(rows[0].cost.cpu_ns, 8);
  EXPECT_EQ(rows[0].cost.stall_ns, 7);
  EXPECT_EQ(rows[1].cost.cpu_ns, 3);
  EXPECT_EQ(rows[1].cost.stall_ns, 0);
}

TEST_F(Measure, SnapshotsEachClear) {
  most = 3;
  ASSERT_TRUE(run({.course = Course::kSnapshots, .duration_ns = 10, .pause_ns = 90}).ok());
  EXPECT_EQ(backend.clears, 3);
  EXPECT_EQ(rows[2].slept_ns, 10);
  EXPECT_EQ(rows[2].cost.cpu_ns, 8);
}

TEST_F(Measure, TheTotalEndsAfterTheRowThatReachesIt) {
  ASSERT_TRUE(run({.course = Course::kCumulative, .duration_ns = 10, .total_ns = 25}).ok());
  EXPECT_EQ(rows.size(), 3U);
}

// No window begins, and nothing is waited for, when the time would be over by then; but as wss.pl
// has it.
TEST_F(Measure, APauseIsNotLongerThanTheTotal) {
  Plan plan{.course = Course::kSnapshots, .duration_ns = 10, .pause_ns = 90, .total_ns = 150};
  int64_t began_ns = clock.now_ns();
  ASSERT_TRUE(run(plan).ok());
  EXPECT_EQ(rows.size(), 2U);
  EXPECT_EQ(clock.now_ns() - began_ns, 110);
  plan.as_wss_pl = true;
  ASSERT_TRUE(run(plan).ok());
  EXPECT_EQ(rows.size(), 2U + 3U);
  EXPECT_EQ(clock.now_ns() - began_ns, 110 + 300);
}

// Its cgroup reaches its limit 25 ms after the beginning of a window of 50 ms.
TEST_F(Measure, GlancesWhileMemoryIsReclaimed) {
  FakeSys sys;
  constexpr const char* kLimit = "/sys/fs/cgroup/memory/a/memory.failcnt";
  proc_.write("cgroup", "4:memory:/a\n");
  sys.write(kLimit, "7\n");
  auto process = Process::open(423, proc_.root());
  MeanwhileWatch watch(process.value(), sys.root());
  clock.onSleep = [&] {
    if (clock.slept == 3 || clock.slept == 4) sys.write(kLimit, std::to_string(clock.slept));
  };
  ASSERT_TRUE(measure(
                  process.value(), backend, {.duration_ns = 50'000'000}, clock,
                  [&](const Row& row) {
                    rows.push_back(row);
                    return true;
                  },
                  &watch)
                  .ok());
  EXPECT_EQ(backend.glances, 2);
  EXPECT_EQ(clock.slept, 5);
  EXPECT_EQ(rows[0].slept_ns, 50'000'000);
}

// Two instances that measure it at once would clear each other's marks.
TEST_F(Measure, AProcessMeasuredByAnotherInstanceIsLeftAlone) {
  auto other = Process::open(423, proc_.root());
  ASSERT_TRUE(other.value().claim().ok());
  auto refused = run({.duration_ns = 10});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().what, testing::HasSubstr("another tidegauge"));
  EXPECT_EQ(backend.clears, 0);
  { auto gone = std::move(other.value()); }
  EXPECT_TRUE(run({.duration_ns = 10}).ok());
}

MappingUse used(uint64_t start, uint64_t rss, uint64_t referenced) {
  MappingUse use;
  use.mapping.start = start, use.mapping.end = start + std::max<uint64_t>(rss, 100);
  use.sums = {.rss = rss, .referenced = referenced};
  return use;
}

// Accessed bits that others clear between two readings; freed memory also loses its bits.
TEST_F(Measure, WhatWasTouchedSinceTheBeginningStaysSo) {
  backend.uses = {{used(1000, 50, 40), used(2000, 60, 60)},
                  {used(1000, 50, 30), used(1500, 10, 10), used(2000, 20, 20)},
                  {used(1000, 50, 45), used(2000, 70, 10)}};
  ASSERT_TRUE(run({.course = Course::kCumulative, .duration_ns = 10, .total_ns = 25}).ok());
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].sums.referenced, 100U);
  EXPECT_EQ(rows[1].sums.referenced, 40U + 10 + 20);
  EXPECT_EQ(rows[2].sums.referenced, 45U + 20);
}

TEST_F(Measure, InAProfileTooWhatWasTouchedStaysSo) {
  backend.uses = {{used(1000, 50, 40)}, {used(1000, 50, 30)}, {used(1000, 50, 45)}};
  ASSERT_TRUE(run({.course = Course::kProfile, .duration_ns = 10, .steps = 3}).ok());
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].sums.referenced, 40U);
  EXPECT_EQ(rows[2].sums.referenced, 45U);
}

// 256 pages of which the second half is touched; then it is cut there, as mprotect does, and joined
// again.
TEST_F(Measure, ASplitMappingIsNotReportedTwice) {
  backend.uses = {{used(1000, 256, 128)},
                  {used(1000, 128, 0), used(1128, 128, 128)},
                  {used(1000, 128, 0), used(1128, 128, 100)},
                  {used(1000, 256, 90)}};
  ASSERT_TRUE(run({.course = Course::kCumulative, .duration_ns = 10, .total_ns = 35}).ok());
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[1].uses[0].sums.referenced, 0U);
  EXPECT_EQ(rows[1].uses[1].sums.referenced, 128U);
  EXPECT_EQ(rows[2].uses[1].sums.referenced, 128U);
  EXPECT_EQ(rows[3].sums.referenced, 128U);
}

// The half that was touched is freed; the rest never was touched.
TEST_F(Measure, FreedMemoryLosesItsTouches) {
  backend.uses = {{used(1000, 128, 64)}, {used(1000, 64, 0)}, {used(1000, 64, 0)}};
  ASSERT_TRUE(run({.course = Course::kCumulative, .duration_ns = 10, .total_ns = 25}).ok());
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].sums.referenced, 0U);
  EXPECT_EQ(rows[2].sums.referenced, 0U);
}

TEST_F(Measure, AnEndInTheWindowGivesNoFigures) {
  clock.ends_after = 2;
  ASSERT_TRUE(run({.course = Course::kCumulative, .duration_ns = 10}).ok());
  EXPECT_EQ(rows.size(), 1U);
  EXPECT_EQ(backend.reads, 1);
}

TEST_F(Measure, AnErrorEndsItAfterTheRowsThatAreRight) {
  backend.fails_at = 3;
  auto status = run({.course = Course::kCumulative, .duration_ns = 10});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().what, "gone");
  EXPECT_EQ(rows.size(), 2U);
}

TEST_F(Measure, OneFailureOfSeveralIsReportedAndTheOthersContinue) {
  auto process = Process::open(423, proc_.root());
  std::vector<const Process*> all(3, &process.value());
  backend.fails_at = 5;  // the second of the second round
  std::vector<std::vector<bool>> measured;
  auto status = measureAll(all, backend, {.course = Course::kSnapshots, .duration_ns = 10}, clock,
                           [&](std::span<const Outcome> outcomes) {
                             measured.emplace_back();
                             for (const Outcome& one : outcomes) {
                               measured.back().push_back(one.row.has_value());
                               EXPECT_NE(one.row.has_value(), one.gone.has_value());
                             }
                             return measured.size() < 3;
                           });
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(measured[0], (std::vector<bool>{true, true, true}));
  EXPECT_EQ(measured[1], (std::vector<bool>{true, false, true}));
  EXPECT_EQ(measured[2], (std::vector<bool>{true, false, true}));
  EXPECT_EQ(backend.clears, 3 + 3 + 2);  // ended processes are left alone
}

TEST_F(Measure, AProfileOfYearsDoesNotWrap) {
  most = 5;
  constexpr int64_t kThirtyYears_ns = 1'000'000'000'000'000'000;
  ASSERT_TRUE(run({.course = Course::kProfile, .duration_ns = kThirtyYears_ns, .steps = 40}).ok());
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[2].slept_ns, 4 * kThirtyYears_ns);
  EXPECT_GT(rows[3].slept_ns, rows[2].slept_ns);
  EXPECT_GT(rows[4].slept_ns, rows[3].slept_ns);
}

}  // namespace
}  // namespace tidegauge::wss
