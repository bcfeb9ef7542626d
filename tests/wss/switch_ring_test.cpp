// SwitchRing beside a process that touches the same small memory all the time: its translations
// stay in the TLB, so without a flush most of it looks untouched.
#include "wss/backends/switch_ring.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <atomic>
#include <fstream>

#include "wss/backends/smaps_backend.h"
#include "wss/measure/measure.h"

namespace tidegauge::wss {
namespace {

constexpr size_t kBytes = 1 << 20;

// A child that sweeps 1 MiB.
class Sweeper {
 public:
  Sweeper() {
    memory_ = static_cast<char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(memory_, kBytes, MADV_NOHUGEPAGE);
    sweeps_ = static_cast<std::atomic<int>*>(
        mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    child_ = fork();
    if (child_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    volatile char* memory = memory_;
    for (;; ++*sweeps_)
      for (size_t i = 0; i < kBytes; i += kPage) memory[i] = static_cast<char>(i);
  }
  ~Sweeper() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    munmap(memory_, kBytes);
    munmap(sweeps_, kPage);
  }
  pid_t pid() const { return child_; }
  // Returns after a whole sweep that began after the call: on a busy machine that takes a while.
  void waitForSweep() const {
    for (int begun = *sweeps_, i = 0; *sweeps_ - begun < 2 && i < 60'000; ++i) usleep(1000);
  }
  // What the row says about this memory.
  uint64_t touchedIn(const Row& row) const {
    auto address = reinterpret_cast<uint64_t>(memory_);
    for (const MappingUse& use : row.uses)
      if (use.mapping.start <= address && address < use.mapping.end) return use.sums.referenced;
    return 0;
  }

 private:
  char* memory_ = nullptr;
  std::atomic<int>* sweeps_ = nullptr;
  pid_t child_ = -1;
};

// Windows last as they are asked, and until the sweeper swept in them.
class SweepClock final : public Clock {
 public:
  explicit SweepClock(const Sweeper& sweeper) : sweeper_(sweeper) {}
  int64_t now_ns() override { return clockTime_ns(CLOCK_MONOTONIC); }
  int64_t cpu_ns() override { return clockTime_ns(CLOCK_PROCESS_CPUTIME_ID); }
  void sleep(int64_t ns) override {
    usleep(static_cast<useconds_t>(ns / 1000));
    sweeper_.waitForSweep();
  }
  bool isEnding() const override { return false; }

 private:
  const Sweeper& sweeper_;
};

TEST(SwitchRing, MakesProcessorsForget) {
  if (!SwitchRing::isSuited())
    GTEST_SKIP() << "these processors keep translations (INVLPGB, arm64)";
  Sweeper sweeper;
  Process process = Process::open(sweeper.pid()).value();
  SmapsBackend smaps(Flush::kSwitches);
  SweepClock clock(sweeper);
  sweeper.waitForSweep();
  int windows = 0;
  auto status = measure(process, smaps, {.course = Course::kSnapshots, .duration_ns = 50'000'000},
                        clock, [&](const Row& row) {
                          EXPECT_TRUE(row.is_flushed);
                          EXPECT_EQ(sweeper.touchedIn(row), kBytes);
                          EXPECT_GT(row.cost.cpu_ns, 0);
                          return ++windows < 8;
                        });
  ASSERT_TRUE(status.ok()) << status.error().what;
  EXPECT_EQ(windows, 8);
}

TEST(SwitchRing, LeavesNoProcess) {
  auto children = [] {
    std::ifstream file("/proc/self/task/" + std::to_string(getpid()) + "/children");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  std::string before = children();
  {
    auto ring = SwitchRing::start();
    ASSERT_TRUE(ring.ok()) << ring.error().what;
    EXPECT_NE(children(), before);
    EXPECT_TRUE(ring.value().turn().is_complete);
    EXPECT_TRUE(ring.value().turn().is_complete);
  }
  EXPECT_EQ(children(), before);
}

TEST(SwitchRing, ReadsListsOfProcessors) {
  EXPECT_EQ(processorsIn("0-2,8"), (std::vector<int>{0, 1, 2, 8}));
  EXPECT_EQ(processorsIn("5"), (std::vector<int>{5}));
  EXPECT_TRUE(processorsIn("").empty());
  EXPECT_TRUE(processorsIn("x,-").empty());
  EXPECT_EQ(processorsIn("3-1").size(), 0U);
  EXPECT_LE(processorsIn("0-99999999").size(), 8192U);
}

}  // namespace
}  // namespace tidegauge::wss
