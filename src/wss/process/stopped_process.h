// A process that stands still: none of its threads runs while this object exists.
//
//   running ─┬─ stop()   PTRACE_SEIZE, PTRACE_INTERRUPT for each thread, until no new one appears
//            │  …        it touches nothing
//   running ─┴─ resume()   PTRACE_DETACH
//
// It changes no memory of the process. If this program is killed, the kernel resumes the threads.
// A process that a signal had stopped stays stopped. What the process can notice: blocking system
// calls that are never restarted end with EINTR (epoll_wait, sigtimedwait and others: signal(7)).
// Cost: some 10 µs for each thread. Source: ptrace(2).
#pragma once

#include <vector>

#include "base/result.h"
#include "wss/process/process.h"
#include "wss/window.h"

namespace tidegauge::wss {

// When the first and the last of the threads stopped, or was resumed.
struct Moment {
  int64_t first_ns = 0, last_ns = 0;
};

class StoppedProcess {
 public:
  // Errors: this user may not trace it, another program does, it has too many threads, a thread
  // does not stop within a second, or it has ended.
  static base::Result<StoppedProcess> stop(const Process& process, Clock& clock);
  StoppedProcess(StoppedProcess&& other) noexcept;
  StoppedProcess& operator=(StoppedProcess&&) = delete;
  StoppedProcess(const StoppedProcess&) = delete;
  ~StoppedProcess() { resume(); }

  Moment stopped() const { return stopped_; }
  Moment resume();

 private:
  struct Thread {
    pid_t id = 0;
    bool is_stopped = false;
    int signal = 0;  // that was about to be delivered, and will be
  };
  explicit StoppedProcess(Clock& clock) : clock_(clock) {}
  base::Result<bool> seizeNewOnes(const Process& process);
  base::Status waitUntilStopped(const Process& process);

  Clock& clock_;
  std::vector<Thread> threads_;
  Moment stopped_;
};

}  // namespace tidegauge::wss
