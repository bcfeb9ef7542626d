// The time at which a query must end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace tidegauge::query {

struct Deadline {
  std::chrono::steady_clock::time_point at = std::chrono::steady_clock::time_point::max();
  std::stop_token stop{};
  bool hasPassed() const { return stop.stop_requested() || std::chrono::steady_clock::now() >= at; }
};

// A deadline as a stop token, for long work that knows tokens alone. Cost: a thread.
class StopAt {
 public:
  explicit StopAt(const Deadline& deadline)
      : asked_(deadline.stop, [this] { source_.request_stop(); }) {
    if (deadline.at == std::chrono::steady_clock::time_point::max()) return;
    timer_ = std::jthread([this, at = deadline.at](const std::stop_token& end) {
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any ended;
      ended.wait_until(lock, end, at, [] { return false; });
      if (!end.stop_requested()) source_.request_stop();
    });
  }
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::stop_callback<std::function<void()>> asked_;
  std::jthread timer_;
};

}  // namespace tidegauge::query
