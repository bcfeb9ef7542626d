// --fail-on: what a comparison must not exceed, for CI.
//
//   growth>1%       B's live bytes above A's, in percent of A's
//   growth>100MiB   … in bytes            also >=
//   reserved  new  gone  stack  change
//
// `new` and `gone`: bytes in stacks that only B or only A has; `stack`: the largest growth of one
// stack; `change`: all changes without signs. Percent of A's live (for reserved: reserved) bytes.
#pragma once

#include <optional>
#include <string>

#include "analysis/diff.h"
#include "base/result.h"

namespace tidegauge::exporting {

struct DiffLimit {
  enum class Metric : uint8_t { kGrowth, kReserved, kNew, kGone, kStack, kChange };
  Metric metric = Metric::kGrowth;
  bool or_equal = false;
  std::optional<double> percent;
  uint64_t bytes = 0;
  std::string text;  // as written
};
base::Result<DiffLimit> parseDiffLimit(const std::string& text);
// "growth is 2.3 %, 12.0 MiB: more than growth>1% allows"; nothing if the limit holds.
std::optional<std::string> exceeded(const DiffLimit& limit, const analysis::Diff& diff);

}  // namespace tidegauge::exporting
