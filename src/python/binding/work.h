// Work of the engine while Python continues: no GIL, a thread of its own, ended by Ctrl-C.
//
//   auto file = workResult([&](std::stop_token stop) { return openFile(path, {.stop = stop}); });
//   if (!file) return nullptr;   // an exception is set
//
// Python runs its signal handlers in the main thread only between its own steps. So the calling
// thread looks every 50 ms; if a handler raised, the work is asked to stop and waited for.
#pragma once

#include <atomic>
#include <future>
#include <optional>
#include <stop_token>
#include <system_error>

#include "base/result.h"
#include "python/binding/errors.h"
#include "python/binding/objects.h"

namespace tidegauge::python {

// Works that have not ended. Python may end while a daemon thread waits for one.
inline std::atomic<int> works_running = 0;

// False: an exception is set, and the work has ended.
template <class T>
bool waitFor(std::future<T>& work, std::stop_source& stop) {
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
    work.wait();
    return false;
  }
}

// `work` takes a stop token and returns a base::Result.
template <class Work,
          class T = std::remove_cvref_t<
              decltype(std::declval<std::invoke_result_t<Work, std::stop_token>>().value())>>
std::optional<T> workResult(const Work& work) {
  using Done = std::invoke_result_t<Work, std::stop_token>;
  std::stop_source stop;
  auto run = [&]() -> Done {
    struct Running {
      Running() { ++works_running; }
      ~Running() { --works_running; }
    } running;
    try {
      return work(stop.get_token());
    } catch (const std::bad_alloc&) {
      return base::Error{base::ErrorKind::kLimit, "not enough memory", std::nullopt, ""};
    } catch (const std::exception& error) {
      return base::Error{base::ErrorKind::kUnreadable, error.what(), std::nullopt, ""};
    }
  };
  std::future<Done> future;
  try {
    future = std::async(std::launch::async, run);
  } catch (const std::system_error&) {  // there is no thread for it
    future = std::async(std::launch::deferred, run);
  }
  if (!waitFor(future, stop)) return std::nullopt;
  Done done = future.get();
  if (!done.ok()) {
    raise(done.error());
    return std::nullopt;
  }
  return std::move(done).value();
}

}  // namespace tidegauge::python
