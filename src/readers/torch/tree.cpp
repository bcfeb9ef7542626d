#include "readers/torch/tree.h"

namespace tidegauge::readers::torch {

uint32_t Tree::addNode() {
  nodes_.push_back({});
  return static_cast<uint32_t>(nodes_.size() - 1);
}

// Is `value` the event row right after those that the run's last item stands for?
bool Tree::joinsLastRow(uint32_t run, Value value) const {
  if (value.tag() != Tag::kEvent || value.moreRows() != 0 || runs_[run].count == 0) return false;
  Value last = items_.back();
  constexpr uint32_t kMostRows = (1u << 24) - 1;
  return last.tag() == Tag::kEvent && last.moreRows() < kMostRows &&
         uint64_t{last.index()} + last.moreRows() + 1 == value.index();
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
    if (join_rows && joinsLastRow(target.last, value)) {
      items_.back().bits += uint64_t{1} << 32;
    } else {
      items_.push_back(value);
      ++runs_[target.last].count;
      ++target.count;
    }
  }
}

}  // namespace tidegauge::readers::torch
