#include "wss/surveys/pressure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/wss/fake_proc.h"
#include "unit/wss/fake_sys.h"

namespace tidegauge::wss {
namespace {

using testing::HasSubstr;

constexpr const char* kFolder = "/sys/fs/cgroup/shop/db/";
constexpr const char* kNoStall =
    "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull "
    "avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";

TEST(MemoryScope, RowsOfACgroupAndOfTheMachine) {
  auto cgroup = parseMemoryCounters(
      "anon 1\nworkingset_refault_anon 3\nworkingset_refault_file 5\npgscan 7\npgsteal 2\n"
      "pgscan_kswapd 4\npgscan_direct 3\nworkingset_refault_file",
      "some avg10=1.00 avg60=0.00 avg300=0.00 total=93010\nfull avg10=0.00 avg60=0.00 total=10",
      4096);
  EXPECT_EQ(cgroup.refaulted_anonymous, 3U * 4096);
  EXPECT_EQ(cgroup.refaulted_file, 5U * 4096);
  EXPECT_EQ(cgroup.scanned, 7U * 4096);
  EXPECT_EQ(cgroup.taken, 2U * 4096);
  EXPECT_EQ(cgroup.some_ns, 93'010'000);
  EXPECT_EQ(cgroup.full_ns, 10'000);
  auto machine = parseMemoryCounters(
      "pgscan_kswapd 4\npgscan_direct 3\npgscan_anon 2\npgscan_file 5\npgsteal_anon 1\n"
      "pgsteal_file 1\npgscan_direct_throttle 9\n",
      "", 1);
  EXPECT_EQ(machine.scanned, 7U);
  EXPECT_EQ(machine.taken, 2U);
  EXPECT_FALSE(machine.some_ns.has_value());
  auto broken = parseMemoryCounters("pgscan x\n\n \npgsteal", "some total=\nfull", 4096);
  EXPECT_EQ(broken.scanned, 0U);
  EXPECT_EQ(broken.some_ns, 0);
  EXPECT_FALSE(broken.full_ns.has_value());
}

TEST(Pressure, WhatCountersSay) {
  constexpr int64_t kSecond = 1'000'000'000;
  EXPECT_EQ(shortageOf({}, kSecond), Shortage::kNone);
  EXPECT_EQ(shortageOf({.scanned = 1 << 20}, kSecond), Shortage::kNear);
  EXPECT_EQ(shortageOf({.refaulted_file = 1 << 20, .scanned = 1 << 20}, kSecond), Shortage::kShort);
  // Refaults without scanning: the page cache was dropped by hand.
  EXPECT_EQ(shortageOf({.refaulted_file = 1 << 20}, kSecond), Shortage::kNone);
  EXPECT_EQ(shortageOf({.scanned = 40960}, 10 * kSecond), Shortage::kNone);  // a page a second
}

class PressureOfCgroup : public testing::Test {
 protected:
  PressureOfCgroup() {
    proc_.write("cgroup", "0::/shop/db\n");
    counters(100, 10);
    sys_.write(std::string(kFolder) + "memory.pressure", kNoStall);
    sys_.write(std::string(kFolder) + "memory.current", "4096\n");
    clock_.onSleep = [this] { counters(100 + scanned_, 10 + back_); };
  }
  void counters(int scanned, int back) {
    sys_.write(std::string(kFolder) + "memory.stat",
               "pgscan " + std::to_string(scanned) + "\npgsteal 1\nworkingset_refault_anon " +
                   std::to_string(back) + "\nworkingset_refault_file 0\n");
  }

  FakeSys sys_;
  FakeProc proc_;
  Process process_ = Process::open(423, proc_.root()).value();
  FakeClock clock_{10};
  int scanned_ = 0, back_ = 0;
};

TEST_F(PressureOfCgroup, IsReadThereAndSummedUp) {
  Pressure pressure(process_, MemoryScope::of(process_, sys_.root()));
  EXPECT_THAT(pressure.head(0).how, HasSubstr("/shop/db"));
  EXPECT_TRUE(pressure.head(0).limits.empty());
  for (int i = 0; i < 2; ++i) {
    counters(100, 10);
    scanned_ = 1000, back_ = 600;
    auto row = pressure.next(clock_, 1'000'000'000);
    ASSERT_TRUE(row.ok() && row.value());
    EXPECT_EQ(row.value()->fields["bytes"]["scanned"], 1000 * sysconf(_SC_PAGESIZE));
    EXPECT_EQ(row.value()->fields["bytes"]["refaulted_anonymous"], 600 * sysconf(_SC_PAGESIZE));
    EXPECT_EQ(row.value()->fields["stalled_percent"]["some"], 0.0);
  }
  EXPECT_EQ(pressure.verdict().fields["shortage"], "short");
  EXPECT_EQ(pressure.verdict().fields["bytes"]["scanned"], 2000 * sysconf(_SC_PAGESIZE));
  EXPECT_THAT(pressure.verdict().text, HasSubstr("is larger than"));
}

TEST_F(PressureOfCgroup, EndsWithoutARowWhenItShall) {
  Pressure pressure(process_, MemoryScope::of(process_, sys_.root()));
  clock_.ends_after = 1;
  auto row = pressure.next(clock_, 1'000'000'000);
  ASSERT_TRUE(row.ok());
  EXPECT_FALSE(row.value().has_value());
  EXPECT_EQ(pressure.verdict().text, "");
}

// A container with its own cgroups sees its own as the root; one without sees a path that does not
// exist.
TEST_F(PressureOfCgroup, OfAContainerIsTheRootThatItSees) {
  for (const char* path : {"0::/\n", "0::/system.slice/docker-1.scope\n"}) {
    proc_.write("cgroup", path);
    sys_.write("/sys/fs/cgroup/memory.stat", "pgscan 7\n");
    sys_.write("/sys/fs/cgroup/memory.pressure", kNoStall);
    std::filesystem::remove(sys_.at("/sys/fs/cgroup/memory.current"));
    EXPECT_EQ(MemoryScope::of(process_, sys_.root()).cgroup(), "");  // the root of all
    sys_.write("/sys/fs/cgroup/memory.current", "4096\n");
    MemoryScope scope = MemoryScope::of(process_, sys_.root());
    EXPECT_EQ(scope.cgroup(), "/");
    EXPECT_EQ(scope.look().value().scanned, 7U * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  }
}

TEST_F(PressureOfCgroup, WithoutSuchFilesIsOfTheMachine) {
  sys_.write("/proc/vmstat", "pgscan_anon 1\n");
  proc_.write("cgroup", "0::/\n");
  MemoryScope scope = MemoryScope::of(process_, sys_.root());
  EXPECT_EQ(scope.cgroup(), "");
  EXPECT_EQ(Pressure(process_, scope).head(0).limits.size(), 1U);
  auto counters = scope.look();
  ASSERT_TRUE(counters.ok());
  EXPECT_FALSE(counters.value().some_ns.has_value());  // no pressure file
}

}  // namespace
}  // namespace tidegauge::wss
