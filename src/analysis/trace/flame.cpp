#include "analysis/trace/flame.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>

#include "analysis/labels/allocating_stack.h"

namespace tidegauge::analysis {
namespace {

using WeightOfStack = boost::unordered_flat_map<uint32_t, StackWeight>;

// By stack id, so that equal inputs are summed in the same order.
std::vector<StackWeight> sortedWeights(const WeightOfStack& weight_of) {
  std::vector<StackWeight> weights;
  for (const auto& [stack, weight] : weight_of) {
    weights.push_back(weight);
    weights.back().stack = StackId(stack);
  }
  std::sort(weights.begin(), weights.end(), [](const StackWeight& x, const StackWeight& y) {
    return x.stack.value < y.stack.value;
  });
  return weights;
}

// The category of nearly all bytes, if there is one.
std::optional<Category> mainCategory(const CategoryBytes& bytes, uint64_t whole) {
  constexpr double kNearlyAll = 0.97;
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto share = static_cast<double>(bytes[i]);
    if (bytes[i] > 0 && share >= kNearlyAll * static_cast<double>(whole)) {
      return static_cast<Category>(i);
    }
  }
  return std::nullopt;
}

// The frames of a stack that are shown, outermost first.
class Paths {
 public:
  Paths(const AnalysedTrace& analysed, const FlameOptions& options)
      : trace_(analysed.trace), shown_(trace_.frames.size()), frame_of_(trace_.frames.size()) {
    boost::unordered_flat_map<std::pair<uint64_t, bool>, uint32_t> of_function;
    for (uint32_t f = 0; f < shown_.size(); ++f) {
      model::FrameKind kind = trace_.frames.kind[f];
      bool python = kind == model::FrameKind::kPython || kind == model::FrameKind::kForward;
      bool of_kind = python ? options.python : kind == model::FrameKind::kCpp ? options.cpp : true;
      bool hidden = options.hidden != nullptr && (*options.hidden)[f];
      shown_[f] = of_kind && !hidden && (options.noise || !analysed.labels.isNoise(FrameId(f)));
      frame_of_[f] = f;
      if (!options.by_function) continue;
      std::pair key(uint64_t{trace_.frames.file[f].value} << 32 | trace_.frames.function[f].value,
                    kind == model::FrameKind::kForward);
      frame_of_[f] = of_function.try_emplace(key, f).first->second;
    }
  }

  uint32_t frameOf(FrameId frame) const { return frame_of_[frame.index()]; }

  // A stack that consists of noise alone is shown in full.
  const std::vector<uint32_t>& of(StackId stack) {
    path_.clear();
    collect(stack, false);
    if (path_.empty()) collect(stack, true);
    return path_;
  }

 private:
  void collect(StackId stack, bool all) {
    model::FrameList frames = trace_.stacks.framesOf(stack);
    for (size_t i = trace_.stacks.depth(stack); i-- > 0;) {
      if (!all && !shown_[frames[i].index()]) continue;
      uint32_t frame = frame_of_[frames[i].index()];
      if (path_.empty() || path_.back() != frame) path_.push_back(frame);
    }
  }

  const model::Trace& trace_;
  std::vector<bool> shown_;
  std::vector<uint32_t> frame_of_;  // the frame that stands for it
  std::vector<uint32_t> path_;
};

constexpr uint32_t kNoStackKey = UINT32_MAX;

class Tree {
 public:
  Tree() {
    nodes_.emplace_back();
    category_bytes_.emplace_back();
  }

  // The frames [begin, end) lead away from the root.
  template <class Iterator>
  void add(Iterator begin, Iterator end, const StackWeight& weight) {
    uint32_t at = 0;
    addTo(at, weight);
    for (; begin != end; ++begin) {
      at = childOf(at, *begin);
      addTo(at, weight);
    }
    nodes_[at].self_weight.add(weight.weight);
  }
  void addWithoutStack(const StackWeight& weight) {
    uint32_t child = childOf(0, kNoStackKey);
    nodes_[child].no_stack = true;
    addTo(child, weight);
    nodes_[child].self_weight.add(weight.weight);
    addTo(0, weight);
  }

  // In order, with small nodes merged.
  Flame cut(const FlameOptions& options) const {
    Flame flame;
    flame.nodes_before = nodes_.size();
    flame.threshold_bytes = threshold(options);
    auto gross = [&](uint32_t node) { return nodes_[node].weight.grossBytes(); };
    auto kept = [&](uint32_t node) { return node == 0 || gross(node) >= flame.threshold_bytes; };
    std::vector<uint32_t> order;  // children of one parent together, largest first
    for (uint32_t node = 1; node < nodes_.size(); ++node) order.push_back(node);
    std::sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
      if (nodes_[x].parent != nodes_[y].parent) return nodes_[x].parent < nodes_[y].parent;
      return gross(x) != gross(y) ? gross(x) > gross(y) : x < y;
    });
    std::vector<size_t> first_child(nodes_.size() + 1, 0);  // in order
    for (uint32_t node : order) first_child[nodes_[node].parent + 1]++;
    for (size_t i = 1; i < first_child.size(); ++i) first_child[i] += first_child[i - 1];

    struct Open {
      uint32_t node;
      uint32_t parent;  // in flame.nodes
    };
    std::vector<Open> open = {{0, FlameNode::kNoParent}};
    while (!open.empty()) {
      auto [node, parent] = open.back();
      open.pop_back();
      auto here = static_cast<uint32_t>(flame.nodes.size());
      flame.nodes.push_back(nodes_[node]);
      flame.nodes.back().parent = parent;
      flame.nodes.back().category =
          mainCategory(category_bytes_[node], nodes_[node].weight.plus_bytes);
      FlameNode other{.parent = here};
      size_t opened = open.size();
      for (size_t i = first_child[node]; i < first_child[node + 1]; ++i) {
        if (kept(order[i])) {
          open.push_back({order[i], here});
        } else {
          other.weight.add(nodes_[order[i]].weight);
          other.merged++;
        }
      }
      std::reverse(open.begin() + static_cast<ptrdiff_t>(opened), open.end());
      if (other.merged > 0) {
        other.self_weight = other.weight;
        flame.nodes.push_back(other);
      }
    }
    return flame;
  }

 private:
  void addTo(uint32_t node, const StackWeight& weight) {
    nodes_[node].weight.add(weight.weight);
    for (size_t i = 0; i < kCategories; ++i) category_bytes_[node][i] += weight.category_bytes[i];
  }

  uint32_t childOf(uint32_t parent, uint32_t frame) {
    uint64_t key = uint64_t{parent} << 32 | frame;
    auto [found, fresh] = child_of_.try_emplace(key, static_cast<uint32_t>(nodes_.size()));
    if (fresh) {
      nodes_.push_back({.parent = parent, .frame = FrameId(frame)});
      category_bytes_.emplace_back();
    }
    return found->second;
  }

  // No node is larger than its parent, so the remaining nodes form a tree again.
  uint64_t threshold(const FlameOptions& options) const {
    double share = static_cast<double>(nodes_[0].weight.grossBytes()) * options.least_share;
    auto least = static_cast<uint64_t>(std::max(1.0, std::ceil(share)));
    std::vector<uint64_t> gross;
    for (const FlameNode& node : nodes_) {
      if (node.weight.grossBytes() >= least) gross.push_back(node.weight.grossBytes());
    }
    if (gross.size() <= options.most_nodes) return least;
    auto last = gross.begin() + static_cast<ptrdiff_t>(options.most_nodes);
    std::nth_element(gross.begin(), last, gross.end(), std::greater<>());
    return *last == UINT64_MAX ? *last : *last + 1;
  }

  std::vector<FlameNode> nodes_;
  std::vector<CategoryBytes> category_bytes_;  // beside them
  boost::unordered_flat_map<uint64_t, uint32_t> child_of_;
};

}  // namespace

std::vector<StackWeight> weightsOf(const model::Trace& trace, std::span<const uint32_t> rows,
                                   const Categories* categories) {
  const model::Allocations& a = trace.allocations;
  WeightOfStack weight_of;
  for (uint32_t row : rows) {
    StackWeight& of = weight_of[allocatingStack(a, row).value];
    of.weight.plus_bytes += a.block_bytes[row];
    of.weight.plus_blocks++;
    if (categories == nullptr) continue;
    of.category_bytes[static_cast<size_t>(categories->of(row))] += a.block_bytes[row];
  }
  return sortedWeights(weight_of);
}

std::vector<StackWeight> growthOf(const model::Trace& trace, std::span<const uint32_t> before,
                                  std::span<const uint32_t> after) {
  const model::Allocations& a = trace.allocations;
  WeightOfStack weight_of;
  for (uint32_t row : after) {
    FlameWeight& weight = weight_of[allocatingStack(a, row).value].weight;
    weight.plus_bytes += a.block_bytes[row];
    weight.plus_blocks++;
  }
  for (uint32_t row : before) {
    FlameWeight& weight = weight_of[allocatingStack(a, row).value].weight;
    weight.minus_bytes += a.block_bytes[row];
    weight.minus_blocks++;
  }
  for (auto& [stack, of] : weight_of) {  // what both hold does not count
    FlameWeight& weight = of.weight;
    uint64_t bytes = std::min(weight.plus_bytes, weight.minus_bytes);
    uint64_t blocks = std::min(weight.plus_blocks, weight.minus_blocks);
    weight.plus_bytes -= bytes;
    weight.minus_bytes -= bytes;
    weight.plus_blocks -= blocks;
    weight.minus_blocks -= blocks;
  }
  std::vector<StackWeight> weights = sortedWeights(weight_of);
  std::erase_if(weights, [](const StackWeight& w) {
    return w.weight.grossBytes() == 0 && w.weight.plus_blocks == w.weight.minus_blocks;
  });
  return weights;
}

std::vector<uint32_t> allocatedIn(const model::Trace& trace, const DeviceAnalysis& device,
                                  Step begin, Step end) {
  std::vector<uint32_t> rows;
  auto [first, last] = device.live.bornIn(begin, end);
  for (uint64_t row = first; row < last; ++row) {
    if (trace.allocations.has(row, model::kAllocSeen)) rows.push_back(static_cast<uint32_t>(row));
  }
  return rows;
}

Flame flameOf(const AnalysedTrace& analysed, std::span<const StackWeight> weights,
              const FlameOptions& options) {
  Paths paths(analysed, options);
  Tree tree;
  for (const StackWeight& w : weights) {
    if (w.stack.valid() && analysed.trace.stacks.depth(w.stack) > 0) {
      const std::vector<uint32_t>& path = paths.of(w.stack);
      tree.add(path.begin(), path.end(), w);
    } else {
      tree.addWithoutStack(w);
    }
  }
  return tree.cut(options);
}

Sandwich sandwichOf(const AnalysedTrace& analysed, std::span<const StackWeight> weights,
                    FrameId frame, const FlameOptions& options) {
  Paths paths(analysed, options);
  uint32_t middle = paths.frameOf(frame);
  Tree callers;
  Tree callees;
  for (const StackWeight& w : weights) {
    if (!w.stack.valid()) continue;
    const std::vector<uint32_t>& path = paths.of(w.stack);
    auto outermost = std::find(path.begin(), path.end(), middle);
    if (outermost == path.end()) continue;
    callers.add(std::make_reverse_iterator(outermost), path.rend(), w);
    callees.add(outermost + 1, path.end(), w);
  }
  return {callers.cut(options), callees.cut(options)};
}

}  // namespace tidegauge::analysis
