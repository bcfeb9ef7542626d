// A window with exact ends, on a process that counts what it touches: while it is cleared and while
// it is read it does nothing, and what is read is what it counted in between, to the page.
#include "wss/backends/exact_window.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "cli/wss/real_clock.h"
#include "wss/backends/smaps_backend.h"
#include "wss/measure/measure.h"
#include "wss/pages/pagemap.h"

namespace tidegauge::wss {
namespace {

constexpr size_t kThreads = 4, kPages = 1 << 13;  // of each thread
constexpr size_t kBytes = kThreads * kPages * kPage;

// Of the measured process, shared with the test.
struct Shared {
  std::array<std::atomic<uint64_t>, kThreads> touched{};  // pages, by each thread
  std::atomic<uint64_t> began{};                          // threads that began and ended at once
  std::atomic<uint64_t> signals{};
  std::atomic<bool> is_ready{};
  char* pages = nullptr;
};

Shared* shared() {
  static auto* it = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return it;
}

// Waits until it holds; a process that stands still for ever fails the test.
void await(const std::function<bool()>& holds) {
  constexpr int kTries = 200'000;
  for (int tries = 0; !holds(); ++tries) {
    ASSERT_LT(tries, kTries) << "nothing changed in 20 s";
    usleep(100);
  }
}

// Each page once, one after the other, and then nothing more.
void touchOnce(size_t thread) {
  volatile char* mine = shared()->pages + thread * kPages * kPage;
  for (size_t page = 0; page < kPages; ++page) {
    (void)mine[page * kPage];
    shared()->touched.at(thread) = page + 1;
    usleep(10);
  }
  for (;;) pause();
}

[[noreturn]] void touchAll() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGUSR1, [](int) { shared()->signals += 1; });
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) threads.emplace_back(touchOnce, i);
  shared()->is_ready = true;
  for (;;) std::thread([] { shared()->began += 1; }).join();
}

class Child {
 public:
  Child() {
    new (shared()) Shared;
    // With a page at each end that nobody may touch, so that it is a mapping of its own.
    guarded_ = static_cast<char*>(
        mmap(nullptr, kBytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    shared()->pages = guarded_ + kPage;
    mprotect(shared()->pages, kBytes, PROT_READ | PROT_WRITE);
    madvise(shared()->pages, kBytes, MADV_NOHUGEPAGE);
    pid_ = fork();
    if (pid_ != 0) {
      await([] { return shared()->is_ready.load(); });
      return;
    }
    // Its own pages, not those that the fork shares.
    for (size_t i = 0; i < kThreads * kPages; ++i) shared()->pages[i * kPage] = 1;
    touchAll();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    munmap(guarded_, kBytes + 2 * kPage);
  }
  pid_t pid() const { return pid_; }
  Process process() const { return std::move(Process::open(pid_)).value(); }

 private:
  char* guarded_ = nullptr;
  pid_t pid_ = 0;
};

std::array<uint64_t, kThreads + 1> counts() {
  std::array<uint64_t, kThreads + 1> now{};
  for (size_t i = 0; i < kThreads; ++i) now.at(i) = shared()->touched.at(i);
  now.back() = shared()->began;
  return now;
}

// Notes what the process had counted before and after each action of smaps.
class Noting final : public Backend {
 public:
  using Noted = std::array<uint64_t, kThreads + 1>;
  std::string_view name() const override { return smaps_.name(); }
  std::string how() const override { return smaps_.how(); }
  std::vector<std::string> limits() const override { return {}; }
  base::Result<Clearing> clear(const Process& process, Clock& clock) override {
    before_clear = counts();
    auto done = smaps_.clear(process, clock);
    after_clear = counts();
    return done;
  }
  base::Result<Reading> read(const Process& process, Clock& clock) override {
    before_read = counts();
    auto done = smaps_.read(process, clock);
    after_read = counts();
    return done;
  }
  Noted before_clear{}, after_clear{}, before_read{}, after_read{};

 private:
  SmapsBackend smaps_{flushOfThisKernel()};
};

uint64_t touchedIn(const Row& row, const char* from, size_t bytes) {
  auto start = reinterpret_cast<uint64_t>(from);
  uint64_t touched = 0;
  for (const MappingUse& use : row.uses)
    if (use.mapping.start >= start && use.mapping.end <= start + bytes)
      touched += use.sums.referenced;
  return touched / kPage;
}

TEST(ExactWindow, IsWhatTheProcessCounted) {
  Child child;
  Process process = child.process();
  auto noting = std::make_unique<Noting>();
  Noting& noted = *noting;
  ExactWindow backend(std::move(noting));
  cli::RealClock clock;
  // A busy machine may leave a thread no time in one window of 20 ms, but not in all of them.
  constexpr int kRows = 5, kMostRows = 200;
  int rows = 0;
  uint64_t all_counted = 0, all_began = 0;
  auto onRow = [&](const Row& row) {
    rows += 1;
    EXPECT_EQ(noted.before_clear, noted.after_clear);
    EXPECT_EQ(noted.before_read, noted.after_read);
    uint64_t counted = 0;
    for (size_t i = 0; i < kThreads; ++i)
      counted += noted.before_read.at(i) - noted.after_clear.at(i);
    // A thread may stand between a touch and its count, at both ends.
    uint64_t read = touchedIn(row, shared()->pages, kBytes);
    EXPECT_LE(read, counted + kThreads);
    EXPECT_LE(counted, read + kThreads);
    all_counted += counted;
    all_began += noted.before_read.back() - noted.after_clear.back();
    EXPECT_LE(row.window.least_ns, row.window.mean_ns);
    EXPECT_LE(row.window.mean_ns, row.window.most_ns);
    EXPECT_GE(row.window.most_ns, row.slept_ns);
    for (const Window& window : row.windows) EXPECT_EQ(window.mean_ns, row.window.mean_ns);
    EXPECT_GT(row.cost.stopped_ns, 0);
    return rows < kRows || (all_began == 0 && rows < kMostRows);
  };
  Plan plan{.course = Course::kSnapshots, .duration_ns = 20'000'000};
  base::Status status = measure(process, backend, plan, clock, onRow);
  ASSERT_TRUE(status.ok()) << status.error().what;
  EXPECT_GE(rows, kRows);
  EXPECT_GT(all_counted, 0U);
  EXPECT_GT(all_began, 0U);
}

TEST(ExactWindow, TheTimeOfReadingsIsNotPartOfLongerWindows) {
  Child child;
  Process process = child.process();
  ExactWindow backend(std::make_unique<SmapsBackend>(flushOfThisKernel()));
  cli::RealClock clock;
  std::vector<Row> rows;
  auto onRow = [&](const Row& row) {
    rows.push_back(row);
    return rows.size() < 4;
  };
  Plan plan{.course = Course::kCumulative, .duration_ns = 5'000'000};
  ASSERT_TRUE(measure(process, backend, plan, clock, onRow).ok());
  ASSERT_EQ(rows.size(), 4U);
  int64_t stood_ns = 0;
  for (size_t i = 0; i + 1 < rows.size(); ++i) stood_ns += i == 0 ? 0 : rows[i].cost.stopped_ns;
  EXPECT_GT(stood_ns, 0);
  // From the clearing to the last reading, less the time of the readings between.
  EXPECT_LE(rows.back().window.most_ns + stood_ns, rows.back().taken_ns);
}

TEST(StoppedProcess, KeepsWhatASignalStopped) {
  Child child;
  Process process = child.process();
  kill(child.pid(), SIGSTOP);
  waitpid(child.pid(), nullptr, WUNTRACED);
  cli::RealClock clock;
  {
    auto stopped = StoppedProcess::stop(process, clock);
    ASSERT_TRUE(stopped.ok()) << stopped.error().what;
  }
  await([&] { return process.isStopped(); });  // it enters that state anew
  auto before = counts();
  usleep(20'000);
  EXPECT_EQ(counts(), before);
  kill(child.pid(), SIGCONT);
  await([&] { return counts() != before; });
}

TEST(StoppedProcess, DeliversASignalThatArrivesMeanwhile) {
  Child child;
  Process process = child.process();
  cli::RealClock clock;
  for (uint64_t i = 1; i <= 20; ++i) {
    auto stopped = StoppedProcess::stop(process, clock);
    ASSERT_TRUE(stopped.ok()) << stopped.error().what;
    kill(child.pid(), SIGUSR1);
    usleep(1000);
    EXPECT_EQ(shared()->signals, i - 1);
    Moment resumed = stopped.value().resume();
    EXPECT_GE(resumed.first_ns, stopped.value().stopped().last_ns);
    await([&] { return shared()->signals >= i; });
    // One that is on its way while the threads are being stopped; ignored by default.
    kill(child.pid(), SIGURG);
  }
}

TEST(StoppedProcess, SaysWhoTracesIt) {
  Child child;
  Process process = child.process();
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  pid_t tracer = fork();
  if (tracer == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cli::RealClock clock;
    auto stopped = StoppedProcess::stop(process, clock);
    char is_stopped = stopped.ok();
    (void)!write(pipes[1], &is_stopped, 1);
    for (;;) pause();
  }
  char is_stopped = 0;
  ASSERT_EQ(read(pipes[0], &is_stopped, 1), 1);
  EXPECT_TRUE(is_stopped);
  cli::RealClock clock;
  auto again = StoppedProcess::stop(process, clock);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().what.find(std::to_string(tracer)), std::string::npos)
      << again.error().what;
  // It is killed, and the kernel resumes the process.
  kill(tracer, SIGKILL);
  waitpid(tracer, nullptr, 0);
  close(pipes[0]);
  close(pipes[1]);
  auto before = shared()->began.load();
  await([&] { return shared()->began != before; });
}

}  // namespace
}  // namespace tidegauge::wss
