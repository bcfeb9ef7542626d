// The time at which a query must end.
#pragma once

#include <chrono>
#include <stop_token>

namespace tidegauge::query {

struct Deadline {
  std::chrono::steady_clock::time_point at = std::chrono::steady_clock::time_point::max();
  std::stop_token stop{};
  bool hasPassed() const { return stop.stop_requested() || std::chrono::steady_clock::now() >= at; }
};

}  // namespace tidegauge::query
