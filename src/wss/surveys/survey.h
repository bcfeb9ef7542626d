// Survey: a way to learn of a working set that looks at no page: what it costs when memory is
// short.
//
//   pressure   what the kernel counts of memory being short       reads
//   pmc        what the processor counts of its caches            reads
//   spot       words here and there, watched by the processor      reads
//   shrink     takes memory away step by step until it comes back  --experiment
//
// A row for each window, and a verdict when it ends.
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

// A process with more threads is refused: each of them needs descriptors of its own.
inline constexpr size_t kMaxThreads = 1024;

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

struct SurveyRow {
  std::string text;  // one line, with its newline; empty: not worth one
  nlohmann::json fields;
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
  // Measures one window, which begins now. Nothing: there is no more to learn, or the clock said
  // that it shall end.
  virtual base::Result<std::optional<SurveyRow>> next(Clock& clock, int64_t window_ns) = 0;
  // After the last row.
  virtual SurveyVerdict verdict() const = 0;
};

}  // namespace tidegauge::wss
