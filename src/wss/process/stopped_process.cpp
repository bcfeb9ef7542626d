#include "wss/process/stopped_process.h"

#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text_layout.h"
#include "wss/process/kernel_file.h"
#include "wss/process/threads.h"

namespace tidegauge::wss {
namespace {

constexpr std::string_view kWhat = "--exact-window";
constexpr int64_t kLongest_ns = 1'000'000'000;
constexpr int64_t kPause_ns = 20'000;

enum class Waited : uint8_t { kStopped, kGone, kNotYet };

// `signal`: the one that was about to be delivered; 0: none.
Waited lookAt(pid_t thread, int& signal) {
  int status = 0;
  pid_t got = waitpid(thread, &status, __WALL | WNOHANG);
  if (got == 0 || (got < 0 && errno == EINTR)) return Waited::kNotYet;
  if (got < 0 || !WIFSTOPPED(status)) return Waited::kGone;
  // The high bits distinguish a stop that was asked for from the delivery of a signal.
  signal = status >> 16 == 0 ? WSTOPSIG(status) : 0;
  return Waited::kStopped;
}

Waited waitFor(pid_t thread, int& signal, int64_t until_ns) {
  for (;;) {
    Waited now = lookAt(thread, signal);
    if (now != Waited::kNotYet || clockTime_ns(CLOCK_MONOTONIC) > until_ns) return now;
    timespec time{.tv_sec = 0, .tv_nsec = kPause_ns};
    nanosleep(&time, nullptr);
  }
}

int64_t latest_ns() { return clockTime_ns(CLOCK_MONOTONIC) + kLongest_ns; }

// Those that were to be left before they had stopped. Only a stopped thread can be left.
std::vector<pid_t>& lateOnes() {
  static std::vector<pid_t> late;
  return late;
}

void leaveLateOnes() {
  std::erase_if(lateOnes(), [](pid_t thread) {
    int signal = 0;
    Waited now = lookAt(thread, signal);
    if (now == Waited::kStopped) ptrace(PTRACE_DETACH, thread, nullptr, signal);
    return now != Waited::kNotYet;
  });
}

char stateOf(const Process& process, pid_t thread) {
  auto text = readKernelFile(fmt::format("/proc/{}/task/{}/stat", process.pid(), thread));
  if (!text.ok()) return 'X';
  size_t end = text.value().rfind(')');
  return end + 2 < text.value().size() ? text.value()[end + 2] : 'X';
}

base::Error notSeized(const Process& process, int error_number) {
  std::string tracer;
  if (auto text = readKernelFile(fmt::format("/proc/{}/status", process.pid())); text.ok()) {
    size_t at = text.value().find("\nTracerPid:\t");
    if (at != std::string::npos) tracer = text.value().substr(at + 12);
    tracer.resize(std::min(tracer.size(), tracer.find('\n')));
  }
  if (!tracer.empty() && tracer != "0")
    return {base::ErrorKind::kMissingFeature,
            fmt::format("process {} cannot be stopped, because process {} traces it", process.pid(),
                        base::printable(tracer)),
            std::nullopt, "End that debugger or tracer, or omit --exact-window"};
  return {
      base::ErrorKind::kMissingFeature,
      fmt::format("process {} cannot be stopped: {}", process.pid(), std::strerror(error_number)),
      std::nullopt,
      "Run as root with CAP_SYS_PTRACE (see also /proc/sys/kernel/yama/ptrace_scope), or omit "
      "--exact-window"};
}

}  // namespace

StoppedProcess::StoppedProcess(StoppedProcess&& other) noexcept
    : clock_(other.clock_), threads_(std::exchange(other.threads_, {})), stopped_(other.stopped_) {}

// Whether there were any.
base::Result<bool> StoppedProcess::seizeNewOnes(const Process& process) {
  TG_ASSIGN_OR_RETURN(std::vector<pid_t> now, threadsOf(process, kWhat));
  bool is_any_new = false;
  for (pid_t id : now) {
    if (std::ranges::find(threads_, id, &Thread::id) != threads_.end()) continue;
    if (ptrace(PTRACE_SEIZE, id, nullptr, nullptr) != 0) {
      int error_number = errno;
      // A thread that has ended is there and cannot be seized, as a first one that left the others.
      char state = stateOf(process, id);
      if (error_number == ESRCH || state == 'Z' || state == 'X') continue;
      return notSeized(process, error_number);
    }
    threads_.push_back({.id = id});
    ptrace(PTRACE_INTERRUPT, id, nullptr, nullptr);
    is_any_new = true;
  }
  return is_any_new;
}

base::Status StoppedProcess::waitUntilStopped(const Process& process) {
  for (Thread& thread : threads_) {
    if (thread.is_stopped) continue;
    Waited now = waitFor(thread.id, thread.signal, latest_ns());
    if (now == Waited::kNotYet)
      return base::Error{
          base::ErrorKind::kLimit,
          fmt::format("thread {} of process {} did not stop within a second, because it waits in "
                      "the kernel",
                      thread.id, process.pid()),
          std::nullopt, "Try again, or omit --exact-window"};
    thread.is_stopped = now == Waited::kStopped;
    if (now == Waited::kGone) thread.id = 0;
    stopped_.last_ns = clock_.now_ns();
  }
  std::erase_if(threads_, [](const Thread& thread) { return thread.id == 0; });
  return base::okStatus();
}

base::Result<StoppedProcess> StoppedProcess::stop(const Process& process, Clock& clock) {
  leaveLateOnes();
  StoppedProcess stopped(clock);
  for (size_t round = 0; round < kMaxThreads; ++round) {
    int64_t before_ns = clock.now_ns();
    TG_ASSIGN_OR_RETURN(bool is_any_new, stopped.seizeNewOnes(process));
    // The first may have stopped before it was looked at.
    if (round == 0) stopped.stopped_ = {before_ns, before_ns};
    if (!is_any_new) break;
    TG_RETURN_IF_ERROR(stopped.waitUntilStopped(process));
  }
  TG_RETURN_IF_ERROR(process.check());
  return stopped;
}

Moment StoppedProcess::resume() {
  Moment resumed{clock_.now_ns(), 0};
  int64_t until_ns = latest_ns();
  for (Thread& thread : threads_) {
    if (!thread.is_stopped) {
      Waited now = waitFor(thread.id, thread.signal, until_ns);
      if (now == Waited::kNotYet) lateOnes().push_back(thread.id);
      if (now != Waited::kStopped) continue;
    }
    if (ptrace(PTRACE_DETACH, thread.id, nullptr, thread.signal) == 0) continue;
    // It was killed meanwhile: until this program has seen that, its parent does not.
    waitFor(thread.id, thread.signal, until_ns);
  }
  threads_.clear();
  leaveLateOnes();
  resumed.last_ns = clock_.now_ns();
  return resumed;
}

}  // namespace tidegauge::wss
