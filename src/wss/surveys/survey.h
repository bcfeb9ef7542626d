// Survey: a way to learn about a working set without examining pages, such as the cost of short
// memory.
//
//   pressure   the kernel's counters of memory pressure           reads
//   pmc        the processor's counters of its caches             reads
//   spot       random words, watched by the processor             reads
//   resctrl    the occupancy of the last-level cache              reads; --ways: --experiment
//   shrink     reclaims memory step by step until it refaults     --experiment
//
// A row for each window, and a verdict at the end.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wss/window.h"

namespace tidegauge::wss {

inline constexpr std::array<std::string_view, 5> kSurveys{"pressure", "pmc", "spot", "resctrl",
                                                          "shrink"};

inline nlohmann::json jsonOf(std::optional<double> value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

// What it is: the same from its beginning to its end.
struct SurveyHead {
  std::string_view name{};
  std::string how{};
  std::vector<std::string> limits{};
  std::string table_head{};
  std::string lasts{};            // how long all of it takes, if that is longer than a window
  bool ends_with_result = false;  // else after one window, or as many as were asked for
};

// NOLINTNEXTLINE(bugprone-exception-escape): its JSON is moved, and that throws nothing
struct SurveyRow {
  std::string text{};  // one line, with its newline; empty: nothing to show
  nlohmann::json fields{};
};

// What all rows say together.
struct SurveyVerdict {
  std::string text{};  // sentences; empty: there was no row
  nlohmann::json fields{};
  // How it ended if it had to: then the exit code is that of an error. Not set: as wanted.
  std::optional<base::Error> broken{};
};

class Survey {
 public:
  virtual ~Survey() = default;
  // `window_ns`: how long its windows will be.
  virtual SurveyHead head(int64_t window_ns) const = 0;
  // The result of one window, which begins now. Absent: there is no more to learn, or the clock
  // ended it.
  virtual base::Result<std::optional<SurveyRow>> next(Clock& clock, int64_t window_ns) = 0;
  // After the last row.
  virtual SurveyVerdict verdict() const = 0;
};

}  // namespace tidegauge::wss
