// A process that stands still: none of its threads runs while this object exists.
//
//   running ─┬─ stop()     PTRACE_SEIZE, PTRACE_INTERRUPT for each thread, until no new one appears
//            │  …          it touches nothing
//   running ─┴─ resume()   PTRACE_DETACH
//
// A thread of this program does that, and ends. At its end the kernel resumes whatever is left,
// also threads that had not stopped yet, and reports those that were killed to their parent. The
// same happens if this program is killed. Ctrl-Z is held back meanwhile. A process that a signal
// had stopped stays stopped. What the process can notice: blocking system calls that are never
// restarted end with EINTR (epoll_wait, sigtimedwait and others: signal(7)). Cost: some 10 µs for
// each thread. Source: ptrace(2); Linux, kernel/ptrace.c, exit_ptrace().
#pragma once

#include <memory>

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
  // Of these errors, those that are known before: that it is traced, or has too many threads.
  static base::Status check(const Process& process);
  // Errors: this user may not trace it, another program does, it has too many threads, a thread
  // does not stop within a second, or it has ended.
  static base::Result<StoppedProcess> stop(const Process& process, Clock& clock);
  StoppedProcess(StoppedProcess&&) noexcept;
  StoppedProcess& operator=(StoppedProcess&&) = delete;
  StoppedProcess(const StoppedProcess&) = delete;
  ~StoppedProcess();

  Moment stopped() const;
  size_t threads() const;  // that stand still
  Moment resume();

 private:
  class Tracer;
  explicit StoppedProcess(std::unique_ptr<Tracer> tracer);
  std::unique_ptr<Tracer> tracer_;
};

}  // namespace tidegauge::wss
