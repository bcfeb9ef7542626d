#include "analysis/compare/diff.h"

#include <algorithm>

namespace tidegauge::analysis {

bool Diff::isAlike() const {
  uint64_t larger = std::max(stacks.bytes_a, stacks.bytes_b);
  return static_cast<double>(stacks.grossBytes()) <= kAlikeShare * static_cast<double>(larger);
}

Diff diffOf(DiffSide a, DiffSide b) {
  Diff diff{std::move(a), std::move(b), {}, {}, {}};
  diff.by_stack = diffByStack(diff.a, diff.b);
  diff.stacks = sumsOf(diff.by_stack);
  bool one_each = diff.a.points.size() == 1 && diff.b.points.size() == 1;
  if (one_each && diff.a.points[0].device != diff.b.points[0].device) {
    diff.events = diffEvents(*diff.a.analysed, *diff.a.points[0].device, *diff.b.analysed,
                             *diff.b.points[0].device);
  }
  return diff;
}

std::vector<StackWeight> diffWeights(const JoinedStacks& joined, const std::vector<StackRow>& rows,
                                     bool change_only) {
  std::vector<StackWeight> weights;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Held& a = rows[i].a;
    const Held& b = rows[i].b;
    StackWeight weight{.stack = joined.stackOf(i), .weight = {}};
    weight.weight.plus_bytes = b.bytes - std::min(a.bytes, b.bytes);
    weight.weight.minus_bytes = a.bytes - std::min(a.bytes, b.bytes);
    weight.weight.plus_blocks = b.blocks - std::min(a.blocks, b.blocks);
    weight.weight.minus_blocks = a.blocks - std::min(a.blocks, b.blocks);
    if (change_only) {
      if (weight.weight.grossBytes() == 0) continue;
    } else {
      weight.weight.same_bytes = std::min(a.bytes, b.bytes);
      weight.weight.same_blocks = std::min(a.blocks, b.blocks);
    }
    weights.push_back(weight);
  }
  return weights;
}

}  // namespace tidegauge::analysis
