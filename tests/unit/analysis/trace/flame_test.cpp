#include "analysis/trace/flame.h"

#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using testing::TraceBuilder;

// main → a (1 MiB), main → b → a (2 MiB), no stack (4 MiB).
AnalysedTrace threeWays() {
  TraceBuilder b;
  b.stack({"a@m.py:1", "main@m.py:9"}).alloc(0x100000000, kMiB);
  b.stack({"a@m.py:1", "b@m.py:2", "a@m.py:3", "main@m.py:9"}).alloc(0x200000000, 2 * kMiB);
  b.noStack().alloc(0x300000000, 4 * kMiB);
  return AnalysedTrace(b.build());
}

std::vector<StackWeight> weights(const AnalysedTrace& analysed, Step step) {
  return weightsOf(analysed.trace, analysed.devices[0]->live.liveAt(step));
}

std::string labelOf(const AnalysedTrace& analysed, const FlameNode& node) {
  return node.frame.valid() ? analysed.labels.frameLabel(node.frame) : std::string();
}

TEST(Flame, IsATreeFromTheOutside) {
  AnalysedTrace analysed = threeWays();
  Flame flame = flameOf(analysed, weights(analysed, 2), {});
  ASSERT_EQ(flame.nodes.size(), 7u);
  EXPECT_EQ(flame.nodes[0].weight.plus_bytes, 7 * kMiB);
  EXPECT_TRUE(flame.nodes[1].no_stack) << "the largest child first";
  EXPECT_EQ(flame.nodes[1].self_weight.plus_bytes, 4 * kMiB);
  EXPECT_EQ(labelOf(analysed, flame.nodes[2]), "m.py:9 main");
  EXPECT_EQ(flame.nodes[2].weight.plus_bytes, 3 * kMiB);
  EXPECT_EQ(flame.nodes[2].self_weight.plus_bytes, 0u);
  EXPECT_EQ(labelOf(analysed, flame.nodes[3]), "m.py:3 a");
  EXPECT_EQ(labelOf(analysed, flame.nodes[5]), "m.py:1 a");
  EXPECT_EQ(flame.nodes[5].parent, 4u);
}

TEST(Flame, LinesOfAFunctionCanBeOneFrame) {
  AnalysedTrace analysed = threeWays();
  FlameOptions options;
  options.by_function = true;
  Flame flame = flameOf(analysed, weights(analysed, 2), options);
  ASSERT_EQ(flame.nodes.size(), 6u) << "all, no stack, main, a, b, a";
  EXPECT_EQ(flame.nodes[3].weight.plus_bytes, 3 * kMiB);
}

TEST(Flame, NodesHaveTheCategoryOfNearlyAllTheirBytes) {
  TraceBuilder b;
  b.stack({"attention@m.py:1", "main@m.py:9"}).alloc(0x100000000, 99 * kMiB);
  b.stack({"cross_entropy@m.py:2", "attention@m.py:1", "main@m.py:9"}).alloc(0x200000000, kMiB);
  b.stack({"layer_norm@m.py:5", "main@m.py:9"}).alloc(0x300000000, 50 * kMiB);
  AnalysedTrace analysed(b.build());
  std::vector<uint32_t> rows = analysed.devices[0]->live.liveAt(2);
  Flame flame = flameOf(analysed, weightsOf(analysed.trace, rows, analysed.categories.get()), {});
  ASSERT_EQ(flame.nodes.size(), 5u);
  EXPECT_EQ(flame.nodes[1].category, std::nullopt) << "main holds two in parts";
  EXPECT_EQ(flame.nodes[2].category, Category::kAttention) << "99 % of it";
  EXPECT_EQ(flame.nodes[3].category, Category::kLogits);
  EXPECT_EQ(flame.nodes[4].category, Category::kNorm);
  Flame without = flameOf(analysed, weights(analysed, 2), {});
  EXPECT_EQ(without.nodes[2].category, std::nullopt) << "nobody asked for categories";
}

TEST(Flame, HiddenFramesAreLeftOut) {
  AnalysedTrace analysed = threeWays();
  auto pattern = TextPattern::compile("/m.py:[29] /");
  ASSERT_TRUE(pattern.ok());
  std::vector<bool> hidden = matchingFrames(analysed.trace, pattern.value());
  FlameOptions options;
  options.hidden = &hidden;
  Flame flame = flameOf(analysed, weights(analysed, 2), options);
  EXPECT_EQ(flame.nodes.size(), 5u) << "all, no stack, a:3, a:1 below it, a:1";
}

TEST(Flame, SmallNodesAreSummedUp) {
  AnalysedTrace analysed = threeWays();
  FlameOptions options;
  options.least_share = 0.5;
  Flame flame = flameOf(analysed, weights(analysed, 2), options);
  ASSERT_EQ(flame.nodes.size(), 3u);
  EXPECT_EQ(flame.nodes[1].merged, 1u);
  EXPECT_EQ(flame.nodes[1].weight.plus_bytes, 3 * kMiB);
}

TEST(Flame, ASandwichCountsARecursionOnce) {
  AnalysedTrace analysed = threeWays();
  FlameOptions options;
  options.by_function = true;
  std::vector<StackWeight> held = weights(analysed, 2);
  FrameId a = analysed.trace.stacks.framesOf(StackId(0))[0];
  Sandwich sandwich = sandwichOf(analysed, held, a, options);
  EXPECT_EQ(sandwich.callers.nodes[0].weight.plus_bytes, 3 * kMiB);
  ASSERT_EQ(sandwich.callers.nodes.size(), 2u);
  EXPECT_EQ(labelOf(analysed, sandwich.callers.nodes[1]), "m.py:9 main");
  EXPECT_EQ(sandwich.callees.nodes[0].weight.plus_bytes, 3 * kMiB);
  EXPECT_EQ(sandwich.callees.nodes[0].self_weight.plus_bytes, kMiB);
  ASSERT_EQ(sandwich.callees.nodes.size(), 3u) << "b below a, and a below that";
}

TEST(TextPattern, RefusesTooLargeOrInvalidExpressions) {
  EXPECT_FALSE(TextPattern::compile("/(/").ok());
  EXPECT_FALSE(TextPattern::compile(std::string(2000, 'a')).ok());
  EXPECT_FALSE(TextPattern::compile("/((a{1,1000}){1,1000}){1,1000}/").ok());
  auto plain = TextPattern::compile("a.c(");
  ASSERT_TRUE(plain.ok());
  EXPECT_TRUE(plain.value().matches("xA.C(y"));
  EXPECT_FALSE(plain.value().matches("abc("));
  auto slow = TextPattern::compile("/(a*)*b/");
  ASSERT_TRUE(slow.ok());
  EXPECT_FALSE(slow.value().matches(std::string(100'000, 'a'))) << "linear, whatever the text";
}

}  // namespace
}  // namespace tidegauge::analysis
