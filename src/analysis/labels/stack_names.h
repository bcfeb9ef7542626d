// The one name that each stack of a trace has in every report, table and picture:
//
//   model.py:8 forward ‹ train.py:63 main        label ‹ caller, the next frame of the user's code
//   model.py:8 forward ‹ eval.py:20 main         two stacks with that label and caller: the frame
//   model.py:8 forward › linear.py:114 forward   further out that distinguishes them, or one that
//                                                the label called
// No two stacks that requested memory have the same name: if no frame distinguishes them, the
// number does. The 512 stacks with the most requests are compared; further ones are named by their
// number. Cost: computed on first use, O(allocations).
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "analysis/labels/stack_labels.h"

namespace tidegauge::analysis {

struct StackName {
  std::string label;
  // What distinguishes it from others: the caller; or, after "› ", what was called. Empty if there
  // is none and none is needed.
  std::string caller;
};

// "model.py:8 forward ‹ train.py:63 main", "model.py:8 forward › linear.py:114 forward"
std::string oneName(const StackName& name);

class StackNames {
 public:
  StackNames(const model::Trace& trace, const StackLabels& labels)
      : trace_(trace), labels_(labels) {}

  // Any stack; "no stack recorded" for an invalid one.
  StackName of(StackId stack) const;
  std::string caller(StackId stack) const { return of(stack).caller; }

 private:
  void make() const;
  void setApart(const std::vector<StackId>& stacks) const;

  const model::Trace& trace_;
  const StackLabels& labels_;
  mutable std::once_flag made_;
  mutable std::vector<StackName> names_;  // by stack; without a label, which is made on use
};

}  // namespace tidegauge::analysis
