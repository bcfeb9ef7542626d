// Rolling windows for people: a row for each window, and at the end after how long memory is
// touched again.
//
//   Time(s)   RSS(MB)   0.1 s   0.2 s   0.4 s   0.8 s Never(MB) CPU(ms) Stall(ms)
//      0.52    403.66   28.02   31.50   31.50   32.04    371.20     9.1       6.0
#pragma once

#include <string>
#include <vector>

#include "wss/measure/measure.h"
#include "wss/measure/page_history.h"

namespace tidegauge::wss {

// `window_s`: as requested.
std::string rollingHeader(const Rolling& rolling, double window_s);
std::string rollingText(const Row& row, const Rolling& rolling, double time_s);

// The actual sequence of windows, on average.
struct RollingPace {
  double spacing_s = 0;  // from one to the next; 0: there was only one
  double unseen_s = 0;   // of it, not watched: between a reading and the next clearing
  // The length for a heading: as requested, unless windows took longer.
  bool isSlower(double window_s) const { return spacing_s > 1.1 * window_s; }
  double windowOr(double window_s) const { return isSlower(window_s) ? spacing_s : window_s; }
};
std::string unseenNote(const RollingPace& pace);  // empty for a single window
// Notes for headings with `window_s`; a paragraph each.
std::string paceText(const RollingPace& pace, double window_s, size_t columns);

// Combines windows; shows the mean of one.
class Reuse {
 public:
  void add(const Rolling& rolling);
  // Empty if there was no second window.
  std::string text(double window_s, size_t columns) const;

 private:
  uint64_t windows_ = 0, first_ = 0;
  std::array<uint64_t, Rolling::kBins> again_{};
};

}  // namespace tidegauge::wss
