// Flame graphs: a tree of stacks, outermost frame first, weighted by bytes.
//
//   all                        10 GiB
//   ├ train.py:63 main          9 GiB
//   │ ├ model.py:8 forward      7 GiB      a node = a path from the outermost frame inwards
//   │ └ other (12)              2 GiB      nodes below the threshold, merged
//   └ no stack recorded         1 GiB
//
// A sandwich is two such trees around one frame: its callers (outwards) and its callees (inwards).
// Frames that only pass the call on are left out as everywhere (stack_labels.h), and so are frames
// that the question hides. Equal frames in a row are one.
// Cost: O(frames of the stacks that hold bytes), one hash lookup each.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/trace/analysed_trace.h"

namespace tidegauge::analysis {

// A difference has both: what grew and what shrank; for two recordings, also what both hold.
struct FlameWeight {
  uint64_t plus_bytes = 0;
  uint64_t minus_bytes = 0;
  uint64_t plus_blocks = 0;
  uint64_t minus_blocks = 0;
  uint64_t same_bytes = 0;
  uint64_t same_blocks = 0;

  uint64_t grossBytes() const { return plus_bytes + minus_bytes + same_bytes; }
  void add(const FlameWeight& other) {
    same_bytes += other.same_bytes;
    same_blocks += other.same_blocks;
    plus_bytes += other.plus_bytes;
    minus_bytes += other.minus_bytes;
    plus_blocks += other.plus_blocks;
    minus_blocks += other.minus_blocks;
  }
};
// Bytes by category, for colours. Differences have none.
using CategoryBytes = std::array<uint64_t, kCategories>;
struct StackWeight {
  StackId stack;  // invalid: no stack recorded
  FlameWeight weight;
  CategoryBytes category_bytes{};
};

// Block bytes by stack, and by category if there are `categories`. The stack of a free does not
// show who allocated: such blocks count as without a stack.
std::vector<StackWeight> weightsOf(const model::Trace& trace, std::span<const uint32_t> rows,
                                   const Categories* categories = nullptr);
// What the second holds more and less than the first, by stack.
std::vector<StackWeight> growthOf(const model::Trace& trace, std::span<const uint32_t> before,
                                  std::span<const uint32_t> after);

// Rows of the device that were allocated at steps [begin, end). churnIn (churn.h) has those that
// were also freed there.
std::vector<uint32_t> allocatedIn(const model::Trace& trace, const DeviceAnalysis& device,
                                  Step begin, Step end);

struct FlameOptions {
  bool python = true;
  bool cpp = true;
  bool noise = false;                         // also the frames that only pass the call on
  bool by_function = false;                   // lines of one function are one frame
  const std::vector<bool>* hidden = nullptr;  // by frame
  double least_share = 0.0005;                // of all bytes; smaller nodes are merged
  size_t most_nodes = 4000;                   // at most; the smallest nodes are merged first
};

struct FlameNode {
  static constexpr uint32_t kNoParent = UINT32_MAX;
  uint32_t parent = kNoParent;  // precedes its children
  FrameId frame{};              // invalid: the root, what has no stack, or "other"
  uint32_t merged = 0;          // "other": number of merged nodes
  bool no_stack = false;
  std::optional<Category> category{};  // of nearly all its bytes: at least 97 %
  FlameWeight weight{};                // including everything below
  FlameWeight self_weight{};           // stacks that end here
};

struct Flame {
  std::vector<FlameNode> nodes;  // depth first, largest child first; nodes[0] is the root
  size_t nodes_before = 0;       // in the whole tree
  uint64_t threshold_bytes = 0;  // smaller nodes were merged
};
Flame flameOf(const AnalysedTrace& analysed, std::span<const StackWeight> weights,
              const FlameOptions& options);

// A stack that contains the frame several times counts once, at the outermost of them.
struct Sandwich {
  Flame callers;
  Flame callees;
};
Sandwich sandwichOf(const AnalysedTrace& analysed, std::span<const StackWeight> weights,
                    FrameId frame, const FlameOptions& options);

}  // namespace tidegauge::analysis
