#include "wss/measure/meanwhile.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "unit/wss/fake_proc.h"
#include "unit/wss/fake_sys.h"

namespace tidegauge::wss {
namespace {

constexpr uint64_t kMiB = 1 << 20;
const auto kPageBytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));

class MeanwhileTest : public testing::Test {
 protected:
  MeanwhileTest() {
    sys_.write("/proc/meminfo", "MemTotal: 1048576 kB\n");
    sys_.write("/proc/vmstat", "pgscan_file 10\npgsteal_file 5\n");
  }
  // A cgroup of version 2, at its limit.
  void versionTwo() {
    proc_.write("cgroup", "0::/a\n");
    sys_.write("/sys/fs/cgroup/a/memory.pressure", "some avg10=0.00 total=0\n");
    sys_.write("/sys/fs/cgroup/a/memory.max", "67108864\n");
    sys_.write("/sys/fs/cgroup/a/memory.current", "67000000\n");
    sys_.write("/sys/fs/cgroup/a/memory.events", "max 7\n");
    sys_.write("/sys/fs/cgroup/a/memory.stat", "pgscan 10\npgsteal 5\nworkingset_refault_file 3\n");
  }
  // The same of version 1.
  void versionOne() {
    proc_.write("cgroup", "9:memory:/a\n");
    std::string folder = "/sys/fs/cgroup/memory/a/";
    sys_.write(folder + "memory.limit_in_bytes", "67108864\n");
    sys_.write(folder + "memory.usage_in_bytes", "67000000\n");
    sys_.write(folder + "memory.failcnt", "7\n");
    sys_.write(folder + "memory.stat", "total_workingset_refault_file 3\n");
  }

  FakeProc proc_;
  FakeSys sys_;
  Process process_ = Process::open(423, proc_.root()).value();
};

TEST_F(MeanwhileTest, OfACgroupAtItsLimitSaysWhatCameBack) {
  versionTwo();
  MeanwhileWatch watch(process_, sys_.root());
  watch.begin(1'000'000'000);
  sys_.write("/sys/fs/cgroup/a/memory.stat",
             "pgscan 1010\npgsteal 505\nworkingset_refault_file 303\n");
  Meanwhile meanwhile = watch.look(2'000'000'000);
  EXPECT_EQ(meanwhile.cgroup, "/a");
  EXPECT_EQ(meanwhile.pressure.window_ns, 1'000'000'000);
  EXPECT_FALSE(meanwhile.scans_machine);
  EXPECT_EQ(meanwhile.pressure.counted.taken, 500 * kPageBytes);
  EXPECT_EQ(meanwhile.pressure.counted.refaulted(), 300 * kPageBytes);
  EXPECT_EQ(meanwhile.limit_bytes, 64 * kMiB);
  EXPECT_TRUE(meanwhile.is_reclaimed);
  EXPECT_TRUE(meanwhile.exceedsLimit());
  sys_.write("/sys/fs/cgroup/a/memory.current", "30000000\n");
  EXPECT_FALSE(watch.look(3'000'000'000).exceedsLimit());
}

// What is taken from a cgroup at its limit is in the counters of the machine, whichever cgroup it
// is.
TEST_F(MeanwhileTest, OfVersionOneCountsWhatTheMachineReclaimed) {
  versionOne();
  sys_.write("/sys/fs/cgroup/memory/a/memory.failcnt", "7\n");
  MeanwhileWatch watch(process_, sys_.root());
  watch.begin(1'000'000'000);
  sys_.write("/sys/fs/cgroup/memory/a/memory.failcnt", "8\n");
  sys_.write("/proc/vmstat", "pgscan_file 1010\npgsteal_file 505\nworkingset_refault_file 9999\n");
  sys_.write("/sys/fs/cgroup/memory/a/memory.stat", "total_workingset_refault_file 303\n");
  Meanwhile meanwhile = watch.look(2'000'000'000);
  EXPECT_TRUE(meanwhile.scans_machine);
  EXPECT_EQ(meanwhile.pressure.counted.taken, 500 * kPageBytes);
  EXPECT_EQ(meanwhile.pressure.counted.refaulted(), 300 * kPageBytes);
  EXPECT_TRUE(meanwhile.exceedsLimit());
}

// docker --memory X --memory-swap X: the kernel counts the limit of both alone.
TEST_F(MeanwhileTest, OfVersionOneCountsTheLimitOfSwapToo) {
  versionOne();
  sys_.write("/sys/fs/cgroup/memory/a/memory.failcnt", "0\n");
  sys_.write("/sys/fs/cgroup/memory/a/memory.memsw.failcnt", "3\n");
  MeanwhileWatch watch(process_, sys_.root());
  watch.begin(1'000'000'000);
  EXPECT_FALSE(watch.isReclaimed());
  sys_.write("/sys/fs/cgroup/memory/a/memory.memsw.failcnt", "4\n");
  EXPECT_TRUE(watch.isReclaimed());
  sys_.write("/proc/vmstat", "pgscan_file 1010\npgsteal_file 505\n");
  EXPECT_TRUE(watch.look(2'000'000'000).is_reclaimed);
}

TEST_F(MeanwhileTest, OfVersionOneLeavesOutTheLimitsOfOthers) {
  versionOne();
  sys_.write("/sys/fs/cgroup/memory/a/memory.failcnt", "7\n");
  MeanwhileWatch watch(process_, sys_.root());
  watch.begin(1'000'000'000);
  sys_.write("/proc/vmstat", "pgscan_file 1010\npgsteal_file 505\npgscan_kswapd 0\n");
  Meanwhile meanwhile = watch.look(2'000'000'000);
  EXPECT_EQ(meanwhile.pressure.counted.scanned, 0U);
  EXPECT_FALSE(meanwhile.is_reclaimed);
  // If the memory of the machine is short, the kernel takes it from all of them.
  sys_.write("/proc/vmstat", "pgscan_file 3010\npgscan_kswapd 1500\npgscan_direct 500\n");
  meanwhile = watch.look(3'000'000'000);
  EXPECT_EQ(meanwhile.pressure.counted.scanned, 2000 * kPageBytes);
  EXPECT_TRUE(meanwhile.is_reclaimed);
}

// Memory that was reclaimed in an earlier row since the clearing is missing in the later ones, too.
TEST_F(MeanwhileTest, IsReclaimedUntilThePagesAreClearedAgain) {
  versionTwo();
  MeanwhileWatch watch(process_, sys_.root());
  watch.begin(1'000'000'000);
  EXPECT_FALSE(watch.look(2'000'000'000).is_reclaimed);
  sys_.write("/sys/fs/cgroup/a/memory.stat", "pgscan 1010\n");
  EXPECT_TRUE(watch.look(3'000'000'000).is_reclaimed);
  Meanwhile later = watch.look(4'000'000'000);
  EXPECT_TRUE(later.is_reclaimed);
  EXPECT_EQ(later.pressure.counted.scanned, 0U);
  // In the pause before the next window: what is touched after the clearing is not missing.
  sys_.write("/sys/fs/cgroup/a/memory.stat", "pgscan 9010\n");
  watch.begin(6'000'000'000);
  Meanwhile cleared = watch.look(7'000'000'000);
  EXPECT_FALSE(cleared.is_reclaimed);
  EXPECT_EQ(cleared.within.counted.scanned, 0U);
  EXPECT_EQ(cleared.within.window_ns, 1'000'000'000);
  EXPECT_EQ(cleared.pressure.counted.scanned, 8000 * kPageBytes);  // since the row before
  EXPECT_EQ(cleared.pressure.window_ns, 3'000'000'000);
}

TEST_F(MeanwhileTest, TheBellRingsOnceForEachChange) {
  versionTwo();
  ReclaimBell bell(process_, sys_.root());
  EXPECT_FALSE(bell.rang());
  sys_.write("/sys/fs/cgroup/a/memory.events", "max 8\n");
  EXPECT_TRUE(bell.rang());
  EXPECT_FALSE(bell.rang());
  // The limit of a cgroup above counts as well.
  versionOne();
  proc_.write("cgroup", "9:memory:/a/b/c\n");
  ReclaimBell below(process_, sys_.root());
  sys_.write("/sys/fs/cgroup/memory/a/memory.failcnt", "8\n");
  EXPECT_TRUE(below.rang());
}

// Averages change without news; the total does not.
TEST_F(MeanwhileTest, TheBellHearsTheTotalOfTheMachinesPressure) {
  sys_.write("/proc/pressure/memory", "some avg10=0.31 avg60=0.10 total=93010\nfull avg10=0\n");
  ReclaimBell bell(process_, sys_.root());
  sys_.write("/proc/pressure/memory", "some avg10=0.11 avg60=0.10 total=93010\nfull avg10=0\n");
  EXPECT_FALSE(bell.rang());
  sys_.write("/proc/pressure/memory", "some avg10=0.11 avg60=0.10 total=93011\nfull avg10=0\n");
  EXPECT_TRUE(bell.rang());
}

TEST(Work, OfThisProcessIsCounted) {
  Process self = Process::open(getpid()).value();
  Work before = self.work();
  constexpr size_t kBytes = 1 << 16;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(memory, 1, kBytes);
  int64_t began_ns = clockTime_ns(CLOCK_PROCESS_CPUTIME_ID);
  while (clockTime_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns < 5'000'000) {
  }
  Work work = self.work() - before;
  munmap(memory, kBytes);
  ASSERT_TRUE(work.ran_ns && work.minor_faults && work.major_faults);
  EXPECT_GE(*work.ran_ns, 5'000'000);
  EXPECT_GE(*work.minor_faults, 1U);
}

}  // namespace
}  // namespace tidegauge::wss
