// Two places compared, computed once for text, JSON and the page.
#pragma once

#include <optional>
#include <vector>

#include "analysis/compare/diff_events.h"
#include "analysis/compare/diff_rows.h"
#include "analysis/compare/joined_stacks.h"
#include "analysis/trace/flame.h"

namespace tidegauge::analysis {

struct Diff {
  DiffSide a;
  DiffSide b;
  std::vector<StackRow> by_stack;
  DiffSums stacks;                   // of by_stack
  std::optional<DiffEvents> events;  // only if both sides are one device each, and not the same one
  // The identity: changes by stack = difference of the active totals.
  bool addsUp() const {
    return analysis::addsUp(stacks, a.totals.active_bytes, b.totals.active_bytes);
  }
  // Two sides are alike if less than this share of the larger total changed.
  static constexpr double kAlikeShare = 0.01;
  bool isAlike() const;
};
Diff diffOf(DiffSide a, DiffSide b);

// Weights for flameOf(joined.trace(), …): what both hold, what B holds more, what it holds less. A
// node is as wide as the larger of A and B, summed stack by stack; or as the change alone.
std::vector<StackWeight> diffWeights(const JoinedStacks& joined, const std::vector<StackRow>& rows,
                                     bool change_only);

}  // namespace tidegauge::analysis
