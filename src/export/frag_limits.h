// Limits for CI: "score>60", "pinned>=2GiB", "external>30%". What breaks one is a finding.
//
//   auto limit = parseLimit("score>60");
//   limit.value().isBroken(report)      the state after the last step of the range is what counts
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "export/frag_report.h"

namespace tidegauge::exporting {

enum class LimitUnit : uint8_t { kNumber, kBytes, kShare };

class FragLimit {
 public:
  const std::string& metric() const { return metric_; }
  double valueOf(const FragReport& report) const;
  bool isBroken(const FragReport& report) const;
  // "score is 61.2, limit > 60"
  std::string sentence(const FragReport& report) const;

 private:
  friend base::Result<FragLimit> parseLimit(std::string_view text);
  std::string text_;  // as given
  std::string metric_;
  std::string op_;
  double value_ = 0;
};

// METRIC OP VALUE; errors (kUsage) name what there is.
base::Result<FragLimit> parseLimit(std::string_view text);
std::vector<std::string_view> limitMetrics();

}  // namespace tidegauge::exporting
