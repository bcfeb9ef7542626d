#include "wss/process/stopped_process.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "wss/process/kernel_file.h"
#include "wss/process/threads.h"

namespace tidegauge::wss {
namespace {

constexpr std::string_view kWhat = "--exact-window";
// For a thread that waits in the kernel; and for one that waits for a processor.
constexpr int64_t kLongest_ns = 1'000'000'000, kLongestReady_ns = 5'000'000'000;
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

char stateOf(const Process& process, pid_t thread) {
  auto text = readKernelFile(fmt::format("/proc/{}/task/{}/stat", process.pid(), thread));
  if (!text.ok()) return 'X';
  size_t end = text.value().rfind(')');
  return end + 2 < text.value().size() ? text.value()[end + 2] : 'X';
}

// The number behind a key ("TracerPid") in the status of a thread; 0: none, or it cannot be read.
pid_t valueIn(const std::string& status_path, std::string_view key) {
  auto text = readKernelFile(status_path);
  if (!text.ok()) return 0;
  size_t at = text.value().find(fmt::format("\n{}:\t", key));
  if (at == std::string::npos) return 0;
  return static_cast<pid_t>(std::atoi(text.value().c_str() + at + key.size() + 3));
}

// It may be one thread of several that is traced, and by one thread of several.
std::optional<pid_t> tracerOf(const Process& process, pid_t thread) {
  pid_t tracer =
      valueIn(fmt::format("/proc/{}/task/{}/status", process.pid(), thread), "TracerPid");
  if (tracer == 0) return std::nullopt;
  pid_t its_process = valueIn(fmt::format("/proc/{}/status", tracer), "Tgid");
  return its_process != 0 ? its_process : tracer;
}

base::Error tracedBy(const Process& process, pid_t tracer) {
  return missingFeature(fmt::format("process {} cannot be stopped, because process {} traces it",
                                    process.pid(), tracer),
                        "End that debugger or tracer, or omit --exact-window");
}

base::Error notSeized(const Process& process, pid_t thread, int error_number) {
  if (auto tracer = tracerOf(process, thread)) return tracedBy(process, *tracer);
  return missingFeature(
      fmt::format("process {} cannot be stopped: {}", process.pid(), std::strerror(error_number)),
      "Run as root with CAP_SYS_PTRACE (see also /proc/sys/kernel/yama/ptrace_scope), or omit "
      "--exact-window");
}

base::Error tooLate(const Process& process, pid_t thread, bool is_ready) {
  return {base::ErrorKind::kLimit,
          is_ready ? fmt::format("thread {} of process {} did not get a processor within five "
                                 "seconds, so it could not be stopped",
                                 thread, process.pid())
                   : fmt::format("thread {} of process {} did not stop within a second, because it "
                                 "waits in the kernel",
                                 thread, process.pid()),
          std::nullopt, "Try again, or omit --exact-window"};
}

// Ctrl-Z, or a write to a terminal in the background, would leave the process standing.
sigset_t stopsOfThisProgram() {
  sigset_t stops;
  sigemptyset(&stops);
  for (int one : {SIGTSTP, SIGTTIN, SIGTTOU}) sigaddset(&stops, one);
  return stops;
}

}  // namespace

// What one thread does: only the thread that seized may detach.
class StoppedProcess::Tracer {
 public:
  Tracer(const Process& process, Clock& clock) : process_(process), clock_(clock) {
    sigset_t stops = stopsOfThisProgram();
    pthread_sigmask(SIG_BLOCK, &stops, &mask_before_);
    thread_ = std::thread([this] { run(); });
    is_stopped_.acquire();
  }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer() { end(); }

  void end() {
    if (!thread_.joinable()) return;
    may_resume_.release();
    thread_.join();
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  }

  size_t threads() const { return threads_.size(); }
  Moment stopped, resumed;
  base::Status status = base::okStatus();

 private:
  struct Traced {
    pid_t id = 0;
    Waited now = Waited::kNotYet;
    int signal = 0;  // that was about to be delivered, and will be
  };

  void run() {
    status = stopAll();
    is_stopped_.release();
    may_resume_.acquire();
    resumed.first_ns = clock_.now_ns();
    for (const Traced& one : threads_)
      if (one.now == Waited::kStopped) ptrace(PTRACE_DETACH, one.id, nullptr, one.signal);
    resumed.last_ns = clock_.now_ns();
  }

  base::Status stopAll() {
    // The first may stop before it is looked at.
    stopped.first_ns = stopped.last_ns = clock_.now_ns();
    for (size_t round = 0; round < kMaxThreads; ++round) {
      TG_ASSIGN_OR_RETURN(bool is_any_new, seizeNewOnes());
      if (!is_any_new) break;
      TG_RETURN_IF_ERROR(waitForAll());
      stopped.last_ns = clock_.now_ns();
    }
    return process_.check();
  }

  base::Result<bool> seizeNewOnes() {
    TG_ASSIGN_OR_RETURN(std::vector<pid_t> now, threadsOf(process_, kWhat));
    bool is_any_new = false;
    for (pid_t id : now) {
      if (std::ranges::find(threads_, id, &Traced::id) != threads_.end()) continue;
      if (ptrace(PTRACE_SEIZE, id, nullptr, nullptr) != 0) {
        int error_number = errno;
        // A thread that has ended is there and cannot be seized, as a first one that left the
        // others.
        char state = stateOf(process_, id);
        if (error_number == ESRCH || state == 'Z' || state == 'X') continue;
        return notSeized(process_, id, error_number);
      }
      threads_.push_back({.id = id});
      ptrace(PTRACE_INTERRUPT, id, nullptr, nullptr);
      is_any_new = true;
    }
    return is_any_new;
  }

  // All together: the end of one may show only after that of another.
  base::Status waitForAll() {
    for (int64_t began_ns = clockTime_ns(CLOCK_MONOTONIC);;) {
      const Traced* late = nullptr;
      for (Traced& one : threads_) {
        if (one.now == Waited::kNotYet) one.now = lookAt(one.id, one.signal);
        if (one.now == Waited::kNotYet) late = &one;
      }
      if (late == nullptr) return base::okStatus();
      int64_t waited_ns = clockTime_ns(CLOCK_MONOTONIC) - began_ns;
      if (waited_ns > kLongest_ns) {
        TG_RETURN_IF_ERROR(process_.check());
        bool is_ready = stateOf(process_, late->id) == 'R';
        if (!is_ready || waited_ns > kLongestReady_ns) return tooLate(process_, late->id, is_ready);
      }
      timespec time{.tv_sec = 0, .tv_nsec = kPause_ns};
      nanosleep(&time, nullptr);
    }
  }

  const Process& process_;
  Clock& clock_;
  std::vector<Traced> threads_;
  std::binary_semaphore is_stopped_{0}, may_resume_{0};
  sigset_t mask_before_{};
  std::thread thread_;
};

base::Result<StoppedProcess> StoppedProcess::stop(const Process& process, Clock& clock) {
  auto tracer = std::make_unique<Tracer>(process, clock);
  TG_RETURN_IF_ERROR(tracer->status);
  return StoppedProcess(std::move(tracer));
}

StoppedProcess::StoppedProcess(std::unique_ptr<Tracer> tracer) : tracer_(std::move(tracer)) {}
StoppedProcess::StoppedProcess(StoppedProcess&&) noexcept = default;
StoppedProcess::~StoppedProcess() = default;

Moment StoppedProcess::stopped() const { return tracer_->stopped; }
size_t StoppedProcess::threads() const { return tracer_->threads(); }

base::Status StoppedProcess::check(const Process& process) {
  TG_ASSIGN_OR_RETURN(std::vector<pid_t> threads, threadsOf(process, kWhat));
  for (pid_t thread : threads)
    if (auto tracer = tracerOf(process, thread)) return tracedBy(process, *tracer);
  return base::okStatus();
}

Moment StoppedProcess::resume() {
  tracer_->end();
  return tracer_->resumed;
}

}  // namespace tidegauge::wss
