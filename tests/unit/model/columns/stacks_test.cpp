#include "model/columns/stacks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/columns/uniform_column.h"

namespace tidegauge::model {
namespace {

std::vector<FrameId> ids(std::initializer_list<uint32_t> values) {
  std::vector<FrameId> frames;
  for (uint32_t value : values) frames.emplace_back(value);
  return frames;
}

std::vector<FrameId> listOf(const Stacks& stacks, StackId id) {
  FrameList frames = stacks.framesOf(id);
  return {frames.begin(), frames.end()};
}

TEST(Stacks, KeepTheirFramesWhenOneNeedsMoreBytes) {
  Stacks stacks;
  StackId first = stacks.add(ids({3, 65535, 7}));
  StackId none = stacks.add({});
  StackId wide = stacks.add(ids({65536, 1}));
  StackId last = stacks.add(ids({4'000'000'000}));
  EXPECT_EQ(listOf(stacks, first), ids({3, 65535, 7}));
  EXPECT_TRUE(listOf(stacks, none).empty());
  EXPECT_EQ(listOf(stacks, wide), ids({65536, 1}));
  EXPECT_EQ(listOf(stacks, last), ids({4'000'000'000}));
  EXPECT_EQ(stacks.size(), 4U);
  EXPECT_EQ(stacks.totalFrames(), 6U);
  EXPECT_EQ(stacks.frameAt(3), FrameId(65536));
}

TEST(Stacks, CompareWithFramesThatDoNotFitIntoTwoBytes) {
  Stacks stacks;
  StackId stack = stacks.add(ids({1, 2}));
  EXPECT_TRUE(stacks.equals(stack, ids({1, 2})));
  EXPECT_FALSE(stacks.equals(stack, ids({1, 3})));
  EXPECT_FALSE(stacks.equals(stack, ids({65536 + 1, 2})));
  EXPECT_FALSE(stacks.equals(stack, ids({1})));
}

TEST(Stacks, TakeAnotherFrame) {
  Stacks stacks;
  StackId stack = stacks.add(ids({1, 2}));
  stacks.setFrame(stack, 1, FrameId(9));
  EXPECT_EQ(listOf(stacks, stack), ids({1, 9}));
  stacks.setFrame(stack, 0, FrameId(70'000));
  EXPECT_EQ(listOf(stacks, stack), ids({70'000, 9}));
}

TEST(Stacks, PartsOfAList) {
  Stacks stacks;
  StackId stack = stacks.add(ids({5, 6, 7}));
  FrameList frames = stacks.framesOf(stack);
  EXPECT_EQ(frames.first(2).back(), FrameId(6));
  EXPECT_EQ(frames.from(1).front(), FrameId(6));
  EXPECT_EQ(frames.from(1).size(), 2U);
  auto found = std::find(frames.begin(), frames.end(), FrameId(7));
  EXPECT_EQ(found - frames.begin(), 2);
}

TEST(UniformColumn, StoresOneValueUntilARowDiffers) {
  UniformColumn<int> column;
  EXPECT_TRUE(column.empty());
  column.append(4, 1000);
  EXPECT_TRUE(column.uniform());
  EXPECT_EQ(column[999], 4);
  column.push_back(5);
  EXPECT_FALSE(column.uniform());
  EXPECT_EQ(column.size(), 1001U);
  EXPECT_EQ(column[999], 4);
  EXPECT_EQ(column[1000], 5);
  column.append(4, 2);
  EXPECT_EQ(column[1002], 4);
  column.assign(3, 9);
  EXPECT_EQ(column.size(), 3U);
  EXPECT_EQ(column[2], 9);
}

}  // namespace
}  // namespace tidegauge::model
