// Survey: a way to learn about a working set without examining pages, such as the cost of short
// memory.
//
//   pressure   the kernel's counters of memory pressure           reads
//   pmc        the processor's counters of its caches             reads
//   spot       random words, watched by the processor             reads
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

inline constexpr std::array<std::string_view, 4> kSurveys{"pressure", "pmc", "spot", "shrink"};

// A process with more threads is refused, since each thread needs its own descriptors.
inline constexpr size_t kMaxThreads = 1024;

inline nlohmann::json jsonOf(std::optional<double> value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

struct SurveyRow {
  std::string text;  // one line, with its newline; empty: nothing to show
  nlohmann::json fields;
};

class Survey {
 public:
  virtual ~Survey() = default;
  virtual std::string_view name() const = 0;
  virtual std::string how() const = 0;
  virtual std::vector<std::string> limits() const = 0;
  virtual std::string tableHead() const = 0;
  // The total duration in words, if that is longer than a window.
  virtual std::string lasts(int64_t window_ns) const {
    (void)window_ns;
    return {};
  }
  // The result of one window, which begins now. Absent: there is no more to learn, or the clock
  // ended it.
  virtual base::Result<std::optional<SurveyRow>> next(Clock& clock, int64_t window_ns) = 0;
  // After the last row: the overall result, in sentences and for programs.
  virtual std::string verdict() const = 0;
  virtual nlohmann::json verdictJson() const = 0;
  // The error if it had to end: it sets the exit code. Empty: as intended.
  virtual std::optional<base::Error> broken() const { return std::nullopt; }
};

}  // namespace tidegauge::wss
