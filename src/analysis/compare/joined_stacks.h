// The stacks of two recordings in one trace without events, so that the code that names, folds and
// draws the stacks of one trace serves both.
//
//   A  f ← main   12 MiB                       joined   f ← main   row 0
//   B  f ← main   16 MiB,  g ← main   1 MiB             g ← main   row 1
//
// Cost: O(frames of the stacks).
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "analysis/compare/diff_rows.h"

namespace tidegauge::analysis {

class JoinedStacks {
 public:
  // A row's stack in B, or in A if B does not have it.
  JoinedStacks(const DiffSide& a, const DiffSide& b, const std::vector<StackRow>& rows);
  // … of any traces.
  explicit JoinedStacks(const std::vector<std::pair<const AnalysedTrace*, StackId>>& stacks);

  const AnalysedTrace& trace() const { return *joined_; }
  StackId stackOf(size_t row) const { return stack_of_[row]; }  // invalid: none recorded

 private:
  std::unique_ptr<const AnalysedTrace> joined_;
  std::vector<StackId> stack_of_;
};

}  // namespace tidegauge::analysis
