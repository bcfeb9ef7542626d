#include "readers/torch/values/tree.h"

namespace tidegauge::readers::torch {

uint32_t Tree::addNode() {
  nodes_.push_back({});
  return static_cast<uint32_t>(nodes_.size() - 1);
}

void Tree::append(uint32_t node, Items items, bool join_rows) {
  if (items.count == 0) return;
  Node& target = nodes_[node];
  bool extends = target.last != kNoRun &&
                 runs_[target.last].begin + runs_[target.last].count == items_.size() &&
                 runs_[target.last].count + items.count < kNoRun;
  if (!extends) {
    auto run = static_cast<uint32_t>(runs_.size());
    runs_.push_back({items_.size(), 0, kNoRun});
    (target.last == kNoRun ? target.first : runs_[target.last].next) = run;
    target.last = run;
  }
  for (size_t i = 0; i < items.count; ++i) {
    Value value = items[i];
    bool first = runs_[target.last].count == 0;
    if (join_rows && !first && items_.back().join(value)) continue;
    items_.push_back(value);
    ++runs_[target.last].count;
    ++target.count;
  }
}

}  // namespace tidegauge::readers::torch
