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

struct SurveyRow {
  std::string text;  // one line, with its newline; empty: not worth one
  nlohmann::json fields;
};

class Survey {
 public:
  virtual ~Survey() = default;
  virtual std::string_view name() const = 0;
  virtual std::string how() const = 0;
  virtual std::vector<std::string> limits() const = 0;
  virtual std::string tableHead() const = 0;
  // How long all of it takes, if that is longer than a window; in words.
  virtual std::string lasts(int64_t window_ns) const {
    (void)window_ns;
    return {};
  }
  // Of one window, which begins now. Nothing: there is no more to learn, or the clock said that it
  // shall end.
  virtual base::Result<std::optional<SurveyRow>> next(Clock& clock, int64_t window_ns) = 0;
  // After the last row: what all of them say, in sentences; the same for programs.
  virtual std::string verdict() const = 0;
  virtual nlohmann::json verdictJson() const = 0;
  // How it ended if it had to: then the exit code is that of an error. Empty: as wanted.
  virtual std::optional<base::Error> broken() const { return std::nullopt; }
};

}  // namespace tidegauge::wss
