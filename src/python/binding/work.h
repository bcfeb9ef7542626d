// Work of the engine while Python continues: no GIL, a thread of its own, ended by Ctrl-C.
//
//   auto file = workResult([&](std::stop_token stop) { return openFile(path, {.stop = stop}); });
//   if (!file) return nullptr;   // an exception is set
//
// Python runs its signal handlers in the main thread only between its own steps. So the calling
// thread looks every 50 ms; if a handler raised, the work is asked to stop. Work that owns all that
// it uses (ownedResult) is abandoned after a second: it ends later, and nobody gets its result.
// Traces do not change, so what it reads stays whole for everybody.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>

#include "base/result.h"
#include "python/binding/errors.h"
#include "python/binding/objects.h"

namespace tidegauge::python {

// How long a work may take to stop until it is left.
inline constexpr std::chrono::seconds kPatience{1};

// Works that have not ended. Python may end while one runs: left, or of a daemon thread.
inline std::atomic<int> works_running = 0;

// Works that have no result yet: they may hold locks. Fewer than works_running, which counts a
// thread until its very end.
inline std::atomic<int> works_without_result = 0;

class Counted {
 public:
  explicit Counted(std::atomic<int>& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<int>& count_;
};

// In a child of fork(), of whose parent another thread was at work: what that thread had locked
// stays locked for ever. So the child's calls end with an error instead of waiting.
inline std::atomic<bool> was_forked_at_work = false;

// Once, when the module is loaded.
inline void watchForks() {
  pthread_atfork(nullptr, nullptr, [] {
    if (works_without_result > 0) was_forked_at_work = true;
    works_running = works_without_result = 0;
  });
}

// True: an exception is set.
inline bool isUnusableAfterFork() {
  if (!was_forked_at_work) return false;
  raise({base::ErrorKind::kUsage,
         "this process was forked while another thread of its parent used Tidegauge", std::nullopt,
         "Fork when no thread uses it, or start the process by multiprocessing's \"spawn\"."});
  return true;
}

// False: an exception is set, and the work has ended, or was left if it may be.
template <class T>
bool waitFor(std::future<T>& work, std::stop_source& stop, bool may_leave) {
  using std::chrono_literals::operator""ms;
  for (;;) {
    {
      WithoutGil others;
      std::future_status status = work.wait_for(50ms);
      if (status == std::future_status::deferred) work.wait();
      if (status != std::future_status::timeout) return true;
    }
    if (PyErr_CheckSignals() == 0) continue;
    stop.request_stop();
    WithoutGil others;
    if (may_leave)
      work.wait_for(kPatience);
    else
      work.wait();
    return false;
  }
}

template <class Work>
using DoneBy = std::invoke_result_t<Work, std::stop_token>;
template <class Work>
using ValueBy = std::remove_cvref_t<decltype(std::declval<DoneBy<Work>>().value())>;

// No exception may leave a thread.
template <class Work>
DoneBy<Work> doneBy(const Work& work, std::stop_token stop) {
  try {
    return work(std::move(stop));
  } catch (const std::bad_alloc&) {
    return base::Error{base::ErrorKind::kLimit, "not enough memory", std::nullopt, ""};
  } catch (const std::exception& error) {
    return base::Error{base::ErrorKind::kUnreadable, error.what(), std::nullopt, ""};
  }
}

// Empty: an exception is set.
template <class T>
std::optional<T> valueOf(base::Result<T>&& done) {
  if (done.ok()) return std::move(done).value();
  raise(done.error());
  return std::nullopt;
}

// `work` takes a stop token and returns a base::Result. It may use what lives as long as this call.
template <class Work>
std::optional<ValueBy<Work>> workResult(const Work& work) {
  if (isUnusableAfterFork()) return std::nullopt;
  std::stop_source stop;
  auto run = [&] {
    Counted running(works_running), locking(works_without_result);
    return doneBy(work, stop.get_token());
  };
  std::future<DoneBy<Work>> future;
  try {
    future = std::async(std::launch::async, run);
  } catch (const std::system_error&) {  // there is no thread for it
    future = std::async(std::launch::deferred, run);
  }
  if (!waitFor(future, stop, false)) return std::nullopt;
  return valueOf(future.get());
}

// The same for a work that owns all that it uses, and touches nothing of Python.
template <class Work>
std::optional<ValueBy<Work>> ownedResult(Work work) {
  if (isUnusableAfterFork()) return std::nullopt;
  using Task = std::packaged_task<DoneBy<Work>()>;
  std::stop_source stop;
  auto task = std::make_shared<Task>([work = std::move(work), token = stop.get_token()] {
    Counted locking(works_without_result);
    return doneBy(work, token);
  });
  std::future<DoneBy<Work>> future = task->get_future();
  ++works_running;
  try {
    std::thread([task]() mutable {
      (*task)();
      task.reset();  // before the end, which may be that of the process
      --works_running;
    }).detach();
  } catch (const std::exception&) {  // there is no thread or memory for it
    WithoutGil others;
    (*task)();
    --works_running;
  }
  task.reset();
  if (!waitFor(future, stop, true)) return std::nullopt;
  return valueOf(future.get());
}

}  // namespace tidegauge::python
