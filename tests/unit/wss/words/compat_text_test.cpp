// The text of wss.pl for each of its options, as scripts read it.
#include "wss/words/compat_text.h"

#include <gtest/gtest.h>

#include "unit/wss/fake_proc.h"
#include "wss/backends/smaps_backend.h"

namespace tidegauge::wss {
namespace {

constexpr int64_t kMs = 1'000'000;

// mysqld touches 28.02 MiB in each sleep until it has touched all.
std::string run(const Plan& plan, const CompatWords& words, bool more_times,
                int64_t step_ns = 4 * kMs) {
  FakeProc proc;
  FakeClock clock(step_ns);
  uint64_t referenced = 0;
  clock.onSleep = [&] {
    if (proc.read("clear_refs") != "") referenced = 0;
    proc.write("clear_refs", "");
    referenced = std::min<uint64_t>(413348, referenced + 28693);
    proc.write("smaps", smapsOf(413348, 410204, referenced));
  };
  auto process = Process::open(423, proc.root());
  EXPECT_TRUE(process.ok());
  SmapsBackend backend(Flush::kFree);
  std::string text = compatHeader(plan, words, more_times);
  auto status = measure(process.value(), backend, plan, clock, [&](const Row& row) {
    text += compatRow(row, more_times);
    return true;
  });
  EXPECT_TRUE(status.ok());
  return text;
}

TEST(CompatText, OneWindow) {
  EXPECT_EQ(run({.duration_ns = 100 * kMs}, {"423", "0.1", "", ""}, false),
            "Watching PID 423 page references during 0.1 seconds...\n"
            "Est(s)     RSS(MB)    PSS(MB)    Ref(MB)\n"
            "0.116       403.66     400.59      28.02\n");
}

TEST(CompatText, MoreTimes) {
  EXPECT_EQ(run({.duration_ns = 100 * kMs}, {"423", ".1", "", ""}, true),
            "Watching PID 423 page references during .1 seconds...\n"
            "Slp(s)  Dur(s)  Est(s)     RSS(MB)    PSS(MB)    Ref(MB)\n"
            "0.104   0.120   0.116       403.66     400.59      28.02\n");
}

TEST(CompatText, Cumulative) {
  Plan plan{.course = Course::kCumulative, .duration_ns = 1000 * kMs, .total_ns = 3000 * kMs};
  EXPECT_EQ(run(plan, {"423", "1", "", ""}, true),
            "Watching PID 423 page references grow, output every 1 seconds...\n"
            "Slp(s)  Dur(s)  Est(s)     RSS(MB)    PSS(MB)    Ref(MB)\n"
            "1.004   1.020   1.016       403.66     400.59      28.02\n"
            "2.008   2.036   2.032       403.66     400.59      56.04\n"
            "3.012   3.052   3.048       403.66     400.59      84.06\n");
}

TEST(CompatText, Snapshots) {
  Plan plan{.course = Course::kSnapshots,
            .duration_ns = 10 * kMs,
            .pause_ns = 1500 * kMs,
            .total_ns = 2000 * kMs,
            .as_wss_pl = true};
  EXPECT_EQ(
      run(plan, {"423", "0.01", "1.5", ""}, false),
      "Watching PID 423 page references for 0.01 seconds, repeating after 1.5 second pauses...\n"
      "Est(s)     RSS(MB)    PSS(MB)    Ref(MB)\n"
      "0.026       403.66     400.59      28.02\n"
      "0.026       403.66     400.59      28.02\n"
      "0.026       403.66     400.59      28.02\n");
}

TEST(CompatText, SnapshotsWithoutAPause) {
  Plan plan{.course = Course::kSnapshots, .duration_ns = 1000 * kMs, .total_ns = 1000 * kMs};
  EXPECT_EQ(run(plan, {"423", "1", "0", ""}, false),
            "Watching PID 423 page references for every 1 seconds...\n"
            "Est(s)     RSS(MB)    PSS(MB)    Ref(MB)\n"
            "1.016       403.66     400.59      28.02\n");
}

TEST(CompatText, ProfileDoublesItsWindows) {
  Plan plan{.course = Course::kProfile, .duration_ns = 100 * kMs, .steps = 5};
  EXPECT_EQ(
      run(plan, {"423", "0.1", "", "5"}, false, 0),
      "Watching PID 423 page references grow, profile beginning with 0.1 seconds, 5 steps...\n"
      "Est(s)     RSS(MB)    PSS(MB)    Ref(MB)\n"
      "0.100       403.66     400.59      28.02\n"
      "0.200       403.66     400.59      56.04\n"
      "0.400       403.66     400.59      84.06\n"
      "0.800       403.66     400.59     112.08\n"
      "1.600       403.66     400.59     140.10\n");
}

TEST(CompatText, LargeNumbersMoveTheColumns) {
  Row row;
  row.estimate_ns = 12'345'678 * kMs;
  row.sums.rss = uint64_t{20} << 40;
  EXPECT_EQ(compatRow(row, false), "12345.678 20971520.00       0.00       0.00\n");
}

}  // namespace
}  // namespace tidegauge::wss
