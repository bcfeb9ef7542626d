// --fail-on of frag, as in "score>60", "pinned>=2GiB", "external>30%": limit.h has the grammar.
//
//   auto limit = parseLimit("score>60");
//   limit.value().isBroken(report)      tests the state after the last step of the range
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/frag/frag_report.h"
#include "report/words/limit.h"

namespace tidegauge::report {

class FragLimit {
 public:
  explicit FragLimit(Limit limit) : limit_(std::move(limit)) {}
  const std::string& metric() const { return limit_.metric; }
  // Its number describes a layout, which memory without an allocator lacks (FragReport::hasScore).
  bool needsScore() const { return metric() == "score" || metric() == "forecast"; }
  double valueOf(const FragReport& report) const;
  bool isBroken(const FragReport& report) const { return holds(limit_, valueOf(report)); }
  // "score is 61.2: “score>60” holds"
  std::string sentence(const FragReport& report) const;

 private:
  Limit limit_;
};

// Errors (kUsage) list the metrics.
base::Result<FragLimit> parseLimit(std::string_view text);
std::vector<std::string_view> limitMetrics();

}  // namespace tidegauge::report
