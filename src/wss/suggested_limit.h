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
#include <vector>

#include "wss/measurement.h"

namespace tidegauge::wss {

struct SuggestedLimit {
  static constexpr size_t kLeastSamples = 60, kPercentiles = 100;  // fewer have no 99th of 100
  static constexpr double kWindow_s = 60, kMargin = 0.1;

  size_t samples = 0;  // windows of 60 s and more that stand apart
  std::optional<uint64_t>
      most{};  // of what 99 of 100 touched, or all if they are fewer; not set: too few
  std::optional<uint64_t> bytes{};
  std::string text() const;  // a sentence or two
};

// Collects what was touched in minutes that stand apart, row by row.
class Minutes {
 public:
  // `in_turn`: its rows are windows one after the other (-s, --rolling), of so long.
  Minutes(bool in_turn, double window_s) : in_turn_(in_turn), window_s_(window_s) {}
  void add(const Row& row, const Rolling* rolling);
  SuggestedLimit limit() const;

 private:
  bool in_turn_;
  double window_s_;
  size_t windows_ = 0;           // of a rolling measurement, since the last that was taken
  std::vector<double> touched_;  // bytes
};

// Empty for measurements of which there is none: single ones, of writes.
std::optional<SuggestedLimit> suggestedLimit(const Measurement& measurement);

}  // namespace tidegauge::wss
