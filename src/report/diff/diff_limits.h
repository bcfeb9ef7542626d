// --fail-on of a comparison: limit.h has the grammar.
//
//   growth>1%       B's live bytes above A's, in percent of A's       growth>100MiB   … in bytes
//   reserved  new  gone  stack  change
//
// `new` and `gone`: bytes in stacks that only B or only A has; `stack`: the largest growth of one
// stack; `change`: sum of the absolute changes. Percent of A's live (for reserved: reserved) bytes.
#pragma once

#include <optional>
#include <string>

#include "analysis/compare/diff.h"
#include "report/words/limit.h"

namespace tidegauge::report {

struct DiffLimit {
  Limit limit;
};
base::Result<DiffLimit> parseDiffLimit(const std::string& text);
// "growth is 12.0 MiB, 2.3 % of A: “growth>1%” holds"; absent if it does not.
std::optional<std::string> exceeded(const DiffLimit& of, const analysis::Diff& diff);

}  // namespace tidegauge::report
