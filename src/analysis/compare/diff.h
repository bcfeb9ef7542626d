// Two places compared, gathered once: what text, JSON and page say about them.
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
  std::optional<DiffEvents> events;  // of one device each, and not the same one
  // The identity: changes by stack = difference of the active totals.
  bool addsUp() const {
    return analysis::addsUp(stacks, a.totals.active_bytes, b.totals.active_bytes);
  }
  // Less than this share of the larger total changed hands, in all: the two are alike.
  static constexpr double kAlikeShare = 0.01;
  bool isAlike() const;
};
Diff diffOf(DiffSide a, DiffSide b);

// Weights for flameOf(joined.trace(), …): what both have, what B has more, what it has less. The
// width of a node is the larger of A and B, added up stack by stack; or the change alone.
std::vector<StackWeight> diffWeights(const JoinedStacks& joined, const std::vector<StackRow>& rows,
                                     bool change_only);

}  // namespace tidegauge::analysis
