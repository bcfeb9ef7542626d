// How small a memory limit may be: from a long run, what was touched in a minute, and how often it was more.
//
//   60 windows of 60 s  ─►  p99: at most so much in 99 of 100  ─►  + a tenth  ─►  limit
//
// A window of 60 s is what a program would have to read again from disk in a minute: less than that in
// memory, and it waits all the time. Windows of a rolling measurement are joined until they are as long;
// those that overlap count once.
#pragma once

#include <optional>
#include <string>

#include "wss/measurement.h"

namespace tidegauge::wss {

struct SuggestedLimit {
  static constexpr size_t kLeastSamples = 60;
  static constexpr double kWindow_s = 60, kMargin = 0.1;

  size_t samples = 0;             // windows of 60 s and more that stand apart
  std::optional<uint64_t> p99{};  // of what they touched; not set: too few
  std::optional<uint64_t> bytes{};
  std::string text() const;  // a sentence or two
};

SuggestedLimit suggestedLimit(const Measurement& measurement);

}  // namespace tidegauge::wss
