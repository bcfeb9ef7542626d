// Tree: dicts, lists and tuples without a column (segments, blocks, settings, annotations,
// everything unknown). A node is a chain of runs in one array of values; a dict's items alternate
// key, value.
//
//   node 7 ─► run [begin 120, 4 values] ─► run [begin 300, 2 values]
//
// Cost: 8 bytes per item, 16 per node, 16 per run; consecutive event rows share one item. A hostile
// file may refer to one part from many places, so that reading all takes the square of its size:
// visits stop for good after kMaxVisits per item, and exhausted() returns true. Real files need
// few.
#pragma once

#include <cstdint>
#include <vector>

#include "readers/torch/values/value.h"

namespace tidegauge::readers::torch {

class Tree {
 public:
  uint32_t addNode();
  void appendPairs(uint32_t node, Items items) { append(node, items, false); }
  void appendItems(uint32_t node, Items items) { append(node, items, true); }
  uint64_t itemCount(uint32_t node) const { return nodes_[node].count; }
  size_t size() const { return nodes_.size(); }
  // True if visits were cut short: the result must not be used.
  bool exhausted() const { return visited_ > kMaxVisits * items_.size() + kFreeVisits; }

  // Calls visit(Items) for each run, in order.
  template <class Visit>
  void forEachRun(uint32_t node, Visit&& visit) const {
    for (uint32_t run = nodes_[node].first; run != kNoRun && !exhausted(); run = runs_[run].next) {
      visited_ += runs_[run].count;
      visit(Items{items_.data() + runs_[run].begin, runs_[run].count});
    }
  }
  // Calls visit(Value) for each item of a list or tuple; a run of event rows is one value.
  template <class Visit>
  void forEachItem(uint32_t node, Visit&& visit) const {
    forEachRun(node, [&](Items items) {
      for (size_t i = 0; i < items.count; ++i) visit(items[i]);
    });
  }
  // Calls visit(key, value) for each pair of a dict. Later pairs override earlier ones.
  template <class Visit>
  void forEachPair(uint32_t node, Visit&& visit) const {
    forEachRun(node, [&](Items items) {
      for (size_t i = 0; i + 1 < items.count; i += 2) visit(items[i], items[i + 1]);
    });
  }

 private:
  static constexpr uint32_t kNoRun = 0xffffffff;
  static constexpr uint64_t kMaxVisits = 256;
  static constexpr uint64_t kFreeVisits = uint64_t{1} << 20;
  struct Node {
    uint32_t first = kNoRun;
    uint32_t last = kNoRun;
    uint64_t count = 0;  // values stored
  };
  struct Run {
    uint64_t begin;
    uint32_t count;
    uint32_t next;
  };

  void append(uint32_t node, Items items, bool join_rows);

  std::vector<Node> nodes_;
  std::vector<Run> runs_;
  std::vector<Value> items_;
  mutable uint64_t visited_ = 0;
};

}  // namespace tidegauge::readers::torch
