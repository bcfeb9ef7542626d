#include "wss/machine/machine.h"

#include <gtest/gtest.h>

#include "base/text_layout.h"
#include "support/bytes.h"
#include "unit/wss/fake_proc.h"
#include "unit/wss/fake_sys.h"
#include "wss/words/fit_text.h"

namespace tidegauge::wss {
namespace {

void addCache(const FakeSys& sys, int index, const char* level, const char* type, const char* size,
              const char* processors) {
  std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
  sys.write(folder + "level", std::string(level) + "\n");
  sys.write(folder + "type", std::string(type) + "\n");
  sys.write(folder + "size", std::string(size) + "\n");
  sys.write(folder + "shared_cpu_list", std::string(processors) + "\n");
}

class MachineTest : public testing::Test {
 protected:
  Machine look() {
    auto process = Process::open(423, proc_.root());
    return lookAtMachine(process.value(), sys_.root());
  }
  FakeProc proc_;
  FakeSys sys_;
};

TEST_F(MachineTest, CachesAndMemory) {
  addCache(sys_, 0, "1", "Data", "48K", "0");
  addCache(sys_, 1, "2", "Instruction", "512K", "0");
  addCache(sys_, 2, "2", "Unified", "1024K", "0");
  addCache(sys_, 3, "3", "Unified", "32768K", "0-1,4,8-11");
  sys_.write("/proc/meminfo", "MemTotal:       24103432 kB\nMemFree: 1 kB\n");
  Machine machine = look();
  EXPECT_EQ(machine.l2_bytes, kMiB);
  EXPECT_EQ(machine.l3_bytes, 32 * kMiB);
  EXPECT_EQ(machine.l3_processors, 7U);
  EXPECT_EQ(machine.memory_bytes, 24103432ULL * 1024);
  EXPECT_EQ(machine.limit_bytes, 0U);
}

TEST_F(MachineTest, TheLeastLimitAboveItHolds) {
  sys_.write("/proc/meminfo", "MemTotal: 8388608 kB\n");
  proc_.write("cgroup", "0::/shop/db/one\n");
  sys_.write("/sys/fs/cgroup/shop/db/one/memory.max", "max\n");
  sys_.write("/sys/fs/cgroup/shop/db/memory.max", "536870912\n");
  sys_.write("/sys/fs/cgroup/shop/memory.max", "1073741824\n");
  Machine machine = look();
  EXPECT_EQ(machine.limit_bytes, 512 * kMiB);
  EXPECT_EQ(machine.limit_of, "/shop/db");
}

// In a container with its own cgroups, the visible root has its limit.
TEST_F(MachineTest, TheRootThatAContainerSeesHasItsLimit) {
  sys_.write("/proc/meminfo", "MemTotal: 8388608 kB\n");
  sys_.write("/sys/fs/cgroup/memory.max", "536870912\n");
  for (const char* path : {"0::/\n", "0::/system.slice/docker-1.scope\n"}) {
    proc_.write("cgroup", path);
    Machine machine = look();
    EXPECT_EQ(machine.limit_bytes, 512 * kMiB);
    EXPECT_EQ(machine.limit_of, "/");
  }
}

TEST_F(MachineTest, VersionOneWritesAHugeNumberForNone) {
  sys_.write("/proc/meminfo", "MemTotal: 8388608 kB\n");
  proc_.write("cgroup", "4:memory:/a/b\n");
  sys_.write("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(look().limit_bytes, 0U);
  sys_.write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1048576\n");
  EXPECT_EQ(look().limit_of, "/a");
}

TEST_F(MachineTest, NonsenseIsNotKnown) {
  addCache(sys_, 0, "3", "Unified", "99999999999999999999K", "5-2,x,,-");
  sys_.write("/proc/meminfo", "MemTotal:");
  Machine machine = look();
  EXPECT_EQ(machine.l3_bytes, 0U);
  EXPECT_LE(machine.l3_processors, 4U);
  EXPECT_EQ(machine.memory_bytes, 0U);
}

Machine some() {
  Machine machine;
  machine.l2_bytes = kMiB;
  machine.l3_bytes = 32 * kMiB;
  machine.l3_processors = 2;
  return machine;
}

TEST(FitText, NamesTheNeighbours) {
  EXPECT_EQ(fitText({100'000'000, 20 * kMiB}, {}, some(), 110),
            "20.0 MiB were touched in 0.1 s, more than L2 (1.0 MiB) and "
            "within L3 (32.0 MiB, which 2 processors share).\n");
  EXPECT_EQ(fitText({100'000'000, kMiB}, {}, some(), 100),
            "1.0 MiB were touched in 0.1 s, within L2 (1.0 MiB).\n");
  EXPECT_EQ(fitText({100'000'000, 33 * kMiB}, {}, some(), 100),
            "33.0 MiB were touched in 0.1 s, more than L3 (32.0 MiB, which 2 processors share).\n");
  EXPECT_EQ(fitText({1, 1}, {}, {}, 100), "");
}

// A size is named only if the figure, with its error, lies on one side of it.
TEST(FitText, NamesOnlyWhatTheErrorAllows) {
  Touched touched{100'000'000, 20 * kMiB};
  Row row;
  row.error_bytes = 96.0 * kMiB;
  EXPECT_EQ(fitText(touched, row, some(), 200), "20.0 MiB were touched in 0.1 s.\n");
  row.error_bytes = 2.0 * kMiB;
  EXPECT_EQ(fitText(touched, row, some(), 200),
            "20.0 MiB were touched in 0.1 s, more than L2 (1.0 MiB) and within L3 (32.0 MiB, which "
            "2 processors share).\n");
  row = {};
  row.sums.hugetlb = 2 * kMiB;  // nobody knows whether it was touched
  EXPECT_EQ(fitText(touched, row, some(), 200),
            "At least 20.0 MiB were touched in 0.1 s, more than L2 (1.0 MiB).\n");
  row = {};
  row.knows_error = false;  // by regions
  EXPECT_EQ(fitText(touched, row, some(), 200), "20.0 MiB were touched in 0.1 s.\n");
}

TEST(FitText, OfReclaimedMemoryIsALowerBound) {
  Row row;
  row.sums.referenced = 5 * kMiB;
  row.gone_bytes = 15 * kMiB;
  row.window.mean_ns = 100'000'000;
  row.meanwhile.is_reclaimed = true;
  row.meanwhile.work.ran_ns = 31'000'000;
  EXPECT_EQ(fitText(touchedIn(row), row, some(), 200),
            "At least 20.0 MiB were touched in 0.1 s (0.031 s of CPU time), more than L2 (1.0 "
            "MiB).\n");
}

TEST(FitText, OfAProcessThatDidNotRunSaysThat) {
  Row row;
  row.window.mean_ns = 100'000'000;
  row.meanwhile.work.ran_ns = 0;
  EXPECT_EQ(fitText({100'000'000, kMiB}, row, some(), 200),
            "The process did not run in this window of 0.1 s, so it shows nothing of what the "
            "process needs.\n");
}

TEST(ProfileText, DrawsLinesAndTheKnee) {
  std::vector<Touched> rows;
  for (uint64_t mb : {1, 10, 38, 40, 40}) rows.push_back({10'000'000LL << rows.size(), mb * kMiB});
  std::string text = profileText(rows, some(), 80);
  EXPECT_NE(text.find("    0.010        1.00  █│"), std::string::npos) << text;
  EXPECT_NE(text.find("│ L2 (1.0 MiB), L3 (32.0 MiB, which 2 processors share)"),
            std::string::npos);
  EXPECT_NE(
      text.find("Windows longer than 0.04 s add little: 38.0 MiB touched in this window, 40.0"),
      std::string::npos)
      << text;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    EXPECT_LE(base::displayWidth(text.substr(at, end - at)), 80U);
    at = end + 1;
  }
  rows.push_back({1'000'000'000, 80 * kMiB});
  EXPECT_NE(profileText(rows, some(), 80).find("still grows"), std::string::npos);
  EXPECT_EQ(profileText({rows[0]}, some(), 80), "");
  EXPECT_EQ(profileText({{1, 0}, {2, 0}}, some(), 80), "Nothing was touched.\n");
}

TEST(ProfileText, OfReclaimedMemoryHasNoKnee) {
  std::string text = profileText({{1, kMiB, 0}, {2, kMiB, 0, true}}, some(), 400);
  EXPECT_NE(text.find("The kernel reclaimed memory during the measurement"), std::string::npos);
}

// The sentence below the chart, for windows of 0.1, 0.2, 0.4 s … with these MiB touched and
// resident.
std::string verdictOf(const std::vector<std::pair<uint64_t, uint64_t>>& mib) {
  std::vector<Touched> rows;
  for (auto [touched, there] : mib)
    rows.push_back({100'000'000LL << rows.size(), touched * kMiB, there * kMiB});
  std::string text = profileText(rows, {}, 400);
  text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

TEST(ProfileText, SaysThatMemoryWasFreed) {
  EXPECT_EQ(
      verdictOf({{40, 100}, {60, 100}, {20, 55}, {20, 55}}),
      "The process freed 45.0 MiB between windows, by the end of the window of 0.4 s. Pages "
      "touched there are missing from then on, so the windows are not comparable and there is "
      "no knee.");
  // Resident memory counts too: for memory that is gone, it is unknown whether it was touched.
  EXPECT_NE(verdictOf({{10, 100}, {20, 60}, {20, 60}}).find("The process freed"),
            std::string::npos);
  // A few pages that the kernel took are nothing of the kind.
  EXPECT_NE(verdictOf({{40, 100}, {39, 99}, {39, 99}}).find("add little"), std::string::npos);
}

// DAMON, reclaim: no memory was freed, so the text does not mention that.
TEST(ProfileText, SaysThatBitsWereTakenAway) {
  EXPECT_EQ(
      verdictOf({{30, 33}, {26, 33}, {12, 33}, {2, 33}}),
      "In the window of 0.4 s, 14.0 MiB less was touched than in the one before, although as much "
      "is resident. Something else clears accessed bits (reclaim, DAMON), so the windows are not "
      "comparable and there is no knee.");
}

TEST(ProfileText, SaysThatAllThereIsWasTouched) {
  EXPECT_EQ(verdictOf({{20, 66}, {40, 66}, {64, 66}}),
            "The process touches nearly all of its memory (64.0 MiB of 66.0 MiB), within 0.4 s. A "
            "longer window adds nothing.");
  EXPECT_EQ(verdictOf({{20, 20}, {40, 40}, {64, 66}}),
            "The process touches nearly all of its memory (64.0 MiB of 66.0 MiB), and it grows "
            "(20.0 MiB in the first window).");
  EXPECT_NE(verdictOf({{20, 100}, {40, 100}, {64, 100}}).find("still grows"), std::string::npos);
}

}  // namespace
}  // namespace tidegauge::wss
