// How small a memory limit may be: from a long run, what was touched in a minute, and how often it
// was more.
//
//   60 to 99 windows of 60 s  ─►  the most of them               ─►  + a tenth  ─►  limit
//   100 and more              ─►  at most so much in 99 of 100
//
// A window of 60 s is what a program would have to read again from disk in a minute: less than that
// in memory, and it waits all the time. Windows of a rolling measurement are joined until they are
// as long; those that overlap count once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wss/file/measurement.h"

namespace tidegauge::wss {

struct SuggestedLimit {
  static constexpr size_t kMinSamples = 60, kSamplesOfP99 = 100;
  static constexpr double kWindow_s = 60, kMargin = 0.1;

  size_t samples = 0;           // windows of 60 s and more that stand apart
  double window_s = kWindow_s;  // of one, in the mean
  // What 99 of 100 do not exceed, of fewer than 100 what none does; not set: too few.
  std::optional<uint64_t> touched{};
  std::optional<uint64_t> bytes{};
  std::string text() const;  // a sentence or two
};

// Takes rows as they come. Cost: 8 bytes for each minute.
class MinuteWindows {
 public:
  explicit MinuteWindows(double window_s) : window_s_(window_s) {}
  // `rolling`: of a rolling measurement, else nullptr.
  void add(const Row& row, const Rolling* rolling);
  SuggestedLimit limit() const;

 private:
  double window_s_;
  size_t windows_ = 0;  // of a rolling measurement, since the last that was taken
  double of_all_s_ = 0;
  std::vector<double> touched_;
};

// Not set: none can follow from it, since its windows grow, or tell what was written.
std::optional<SuggestedLimit> suggestedLimit(const Measurement& measurement);

}  // namespace tidegauge::wss
