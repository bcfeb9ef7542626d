// Flame graphs, growth and churn against slow twins: every allocation is added up again.
#include <gtest/gtest.h>

#include <map>

#include "analysis/growth/churn.h"
#include "analysis/trace/flame.h"
#include "support/view_trace.h"

namespace tidegauge {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;
using analysis::Step;

std::vector<std::string> slowPath(const AnalysedTrace& analysed, model::StackId stack) {
  std::vector<std::string> path;
  for (size_t i = analysed.trace.stacks.depth(stack); i-- > 0;) {
    model::FrameId frame = analysed.trace.stacks.framesOf(stack)[i];
    std::string text = std::to_string(frame.value);
    if (analysed.labels.isNoise(frame)) continue;
    if (path.empty() || path.back() != text) path.push_back(text);
  }
  return path;
}

TEST(FlameTwin, TheFlameAddsUpWhatIsLive) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    AnalysedTrace analysed = testing::viewTrace(seed);
    const DeviceAnalysis& device = *analysed.devices[0];
    const model::Allocations& a = analysed.trace.allocations;
    Step step = device.totals.peakActive().step;
    std::map<std::vector<std::string>, uint64_t> slow;  // way from the outside → bytes
    uint64_t without_stack = 0;
    uint64_t all = 0;
    for (uint32_t row = 0; row < a.size(); ++row) {
      if (!analysis::liveAfter(analysed.trace, row, step)) continue;
      all += a.block_bytes[row];
      if (!a.stack[row].valid() || a.has(row, model::kStackIsOfFree)) {
        without_stack += a.block_bytes[row];
        continue;
      }
      std::vector<std::string> way;
      for (const std::string& frame : slowPath(analysed, a.stack[row])) {
        way.push_back(frame);
        slow[way] += a.block_bytes[row];
      }
    }
    std::vector<uint32_t> rows = device.live.liveAt(step);
    analysis::FlameOptions options;
    options.least_share = 0;
    analysis::Flame flame =
        analysis::flameOf(analysed, analysis::weightsOf(analysed.trace, rows), options);
    EXPECT_EQ(flame.nodes[0].weight.plus_bytes, all);
    std::vector<std::vector<std::string>> way_of(flame.nodes.size());
    size_t frames = 0;
    for (size_t i = 1; i < flame.nodes.size(); ++i) {
      const analysis::FlameNode& node = flame.nodes[i];
      ASSERT_LT(node.parent, i);
      if (node.no_stack) {
        EXPECT_EQ(node.weight.plus_bytes, without_stack);
        continue;
      }
      way_of[i] = way_of[node.parent];
      way_of[i].push_back(std::to_string(node.frame.value));
      EXPECT_EQ(slow[way_of[i]], node.weight.plus_bytes);
      ++frames;
    }
    EXPECT_EQ(frames, slow.size());
    options.most_nodes = 3;
    analysis::Flame cut =
        analysis::flameOf(analysed, analysis::weightsOf(analysed.trace, rows), options);
    EXPECT_LE(cut.nodes.size(), 7U);
    uint64_t self = 0;
    for (const analysis::FlameNode& node : cut.nodes) self += node.self_weight.plus_bytes;
    EXPECT_EQ(self, all) << "what is summed up does not disappear";
    if (HasFailure()) return;
  }
}

TEST(FlameTwin, GrowthAndChurnAgreeWithLists) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    AnalysedTrace analysed = testing::viewTrace(seed);
    const DeviceAnalysis& device = *analysed.devices[0];
    const model::Allocations& a = analysed.trace.allocations;
    Step from = device.totals.steps() / 4;
    Step to = device.totals.steps() * 3 / 4;
    uint64_t churn = 0;
    uint64_t born = 0;
    for (uint32_t row = 0; row < a.size(); ++row) {
      if (!a.has(row, model::kAllocSeen) || a.first_step[row] < from || a.first_step[row] >= to) {
        continue;
      }
      born += a.block_bytes[row];
      if (a.last_step[row] < to) churn += a.block_bytes[row];
    }
    auto bytesOf = [&](const std::vector<uint32_t>& rows) {
      uint64_t bytes = 0;
      for (const analysis::StackWeight& w : analysis::weightsOf(analysed.trace, rows)) {
        bytes += w.weight.plus_bytes;
      }
      return bytes;
    };
    EXPECT_EQ(bytesOf(analysis::allocatedIn(analysed.trace, device, from, to)), born);
    EXPECT_EQ(bytesOf(analysis::churnIn(analysed.trace, device, from, to)), churn);
    int64_t grew = 0;
    for (const analysis::StackWeight& w :
         analysis::growthOf(analysed.trace, device.live.liveAt(from), device.live.liveAt(to))) {
      EXPECT_TRUE(w.weight.plus_bytes == 0 || w.weight.minus_bytes == 0);
      grew += static_cast<int64_t>(w.weight.plus_bytes - w.weight.minus_bytes);
    }
    EXPECT_EQ(grew, static_cast<int64_t>(device.totals.at(to).active_bytes -
                                         device.totals.at(from).active_bytes));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tidegauge
