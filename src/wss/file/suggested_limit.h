// How small a memory limit may be: from a long run, the bytes touched in a minute, and how often
// they were more.
//
//   60 to 99 windows of 60 s  ─►  their maximum                  ─►  + a tenth  ─►  limit
//   100 and more              ─►  the maximum of 99 of 100
//
// A window in which the kernel reclaimed memory counts as larger than all others: what it touched
// is not known. A window of 60 s contains what a program would read again from disk in a minute:
// with less memory than that, it would wait all the time. Windows of a rolling measurement are
// joined to that length; overlapping ones count once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wss/file/measurement.h"

namespace tidegauge::wss {

struct SuggestedLimit {
  static constexpr size_t kMinSamples = 60, kSamplesOfP99 = 100;
  static constexpr double kWindow_s = 60, kMargin = 0.1;

  size_t samples = 0;    // windows of 60 s and more that do not overlap
  size_t reclaimed = 0;  // of these: memory was reclaimed, so they touched more than is known
  size_t at_least = 0;   // of these: they may have touched more for this or another reason
  double window_s = kWindow_s;  // mean length of one
  // The value that 99 of 100 do not exceed, or with fewer than 100 the maximum; absent: too few.
  std::optional<uint64_t> touched{};
  std::optional<uint64_t> bytes{};
  std::string text() const;  // one or two sentences
};

// Takes rows one by one. Cost: 8 bytes for each minute.
class MinuteWindows {
 public:
  explicit MinuteWindows(double window_s) : window_s_(window_s) {}
  // `rolling`: of a rolling measurement, else nullptr.
  void add(const Row& row, const Rolling* rolling);
  SuggestedLimit limit() const;

 private:
  void push(double touched, double lasted_s);

  double window_s_;
  size_t windows_ = 0;  // of a rolling measurement, since the last one used
  bool is_reclaimed_ = false, is_at_least_ = false;  // any of these
  size_t reclaimed_ = 0, at_least_ = 0;
  double of_all_s_ = 0;
  std::vector<double> touched_;
};

// Absent: the measurement cannot give one, since its windows grow or contain writes only.
std::optional<SuggestedLimit> suggestedLimit(const Measurement& measurement);

}  // namespace tidegauge::wss
