// Words, texts, values, tree and stacks: the components of the reader.
#include <gtest/gtest.h>

#include <array>

#include "base/utf8.h"
#include "readers/torch/columns/stack_table.h"
#include "readers/torch/values/tree.h"
#include "readers/torch/values/value.h"
#include "readers/torch/values/values.h"
#include "readers/torch/values/words.h"

namespace tidegauge::readers::torch {
namespace {

TEST(Words, KnowsItsWordsAndNoOthers) {
  EXPECT_EQ(wordOf("addr"), Word::kAddr);
  EXPECT_EQ(wordOf("trace_alloc_max_entries"), Word::kTraceAllocMaxEntries);
  EXPECT_EQ(wordOf("END"), Word::kEnd);
  for (std::string_view other : {"", "a", "N/A", "addR", "adr", "address_", "frobnicate"}) {
    EXPECT_EQ(wordOf(other), Word::kOther) << other;
  }
}

TEST(Words, ActionsAreInTheModelsOrder) {
  model::Trace trace;
  for (auto number = static_cast<uint8_t>(Word::kAlloc);
       number <= static_cast<uint8_t>(Word::kUserDefined); ++number) {
    model::Action action = actionOf(static_cast<Word>(number));
    EXPECT_EQ(wordOf(trace.actionName(action)), static_cast<Word>(number));
  }
}

TEST(Utf8, DistinguishesValidFromInvalid) {
  for (std::string_view good : {"", "plain text, longer than eight", "ä", "步骤", "😀", "\x7f"}) {
    EXPECT_TRUE(base::isUtf8(good)) << good;
    EXPECT_EQ(base::repairedUtf8(good), good);
  }
  for (std::string_view bad : {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xff",
                               "\xf4\x90\x80\x80", "\xf0\x80\x80\x80", "12345678\xe6\xad"}) {
    EXPECT_FALSE(base::isUtf8(bad));
    EXPECT_TRUE(base::isUtf8(base::repairedUtf8(bad)));
  }
  EXPECT_EQ(base::repairedUtf8("a\xff"
                               "b"),
            "a\xef\xbf\xbd"
            "b");
}

TEST(Value, KeepsSmallIntegersItself) {
  for (int64_t number : {int64_t{0}, int64_t{-1}, (int64_t{1} << 55) - 1, -(int64_t{1} << 55)}) {
    ASSERT_TRUE(Value::fitsInt(number));
    EXPECT_EQ(Value::ofInt(number).integer(), number);
  }
  EXPECT_FALSE(Value::fitsInt(int64_t{1} << 55));
}

TEST(Values, ReadsNumbersOfEverySize) {
  base::StringPool strings;
  Values values({}, strings);
  constexpr uint64_t kMost = ~uint64_t{0};
  EXPECT_EQ(values.unsignedOf(values.unsignedInteger(kMost)), kMost);
  EXPECT_EQ(values.signedOf(values.unsignedInteger(kMost)), std::nullopt);
  EXPECT_EQ(values.addressOf(values.integer(-1)), kMost);
  EXPECT_EQ(values.unsignedOf(values.integer(-1)), std::nullopt);
  EXPECT_EQ(values.signedOf(values.integer(INT64_MIN)), INT64_MIN);
  EXPECT_EQ(values.unsignedOf(values.integer(INT64_MAX)), uint64_t{INT64_MAX});
  EXPECT_EQ(values.addressOf(values.hugeInteger(true)), std::nullopt);
  EXPECT_EQ(values.floatOf(values.floating(0.25)), 0.25);
  EXPECT_EQ(values.pair(3, 4), values.pair(3, 4));
  EXPECT_NE(values.pair(3, 4), values.pair(4, 3));
}

TEST(Tree, ChainsRunsAndJoinsRows) {
  Tree tree;
  uint32_t first = tree.addNode(), second = tree.addNode();
  std::array<Value, 3> rows = {Value::of(Tag::kEvent, 7), Value::of(Tag::kEvent, 8),
                               Value::of(Tag::kEvent, 10)};
  Value next = Value::of(Tag::kEvent, 11);
  tree.appendItems(first, {rows.data(), rows.size()});
  tree.appendItems(second, {&next, 1});
  tree.appendItems(first, {&next, 1});
  std::vector<Value> items;
  tree.forEachItem(first, [&](Value item) { items.push_back(item); });
  ASSERT_EQ(items.size(), 3u);  // 7 and 8, 10, 11: the last in a separate run
  EXPECT_EQ(items[0].index(), 7u);
  EXPECT_EQ(items[0].moreRows(), 1u);
  EXPECT_EQ(items[2].index(), 11u);
  EXPECT_EQ(tree.itemCount(second), 1u);
}

TEST(Value, RunsOfRowsAreBounded) {
  Value run = Value::of(Tag::kEvent, 0);
  for (uint32_t row = 1; row < (1u << 24); ++row)
    ASSERT_TRUE(run.join(Value::of(Tag::kEvent, row)));
  EXPECT_EQ(run.moreRows(), (1u << 24) - 1);
  EXPECT_FALSE(run.join(Value::of(Tag::kEvent, 1u << 24)));
  EXPECT_EQ(run.index(), 0u);
}

TEST(StackTable, SharesEqualStacks) {
  model::Stacks stacks;
  StackTable table(stacks);
  std::vector<model::FrameId> frames = {model::FrameId(1), model::FrameId(2), model::FrameId(1)};
  model::StackId first = table.intern(frames);
  EXPECT_EQ(table.intern(frames), first);
  EXPECT_NE(table.intern(std::span(frames).first(2)), first);
  EXPECT_FALSE(table.intern({}).valid());
  EXPECT_EQ(stacks.size(), 2u);
  EXPECT_EQ(stacks.depth(first), 3u);
}

TEST(Frames, KindsByFileAndName) {
  EXPECT_EQ(frameKindOf("/a/train.py", "f"), model::FrameKind::kPython);
  EXPECT_EQ(frameKindOf("<string>", "<module>"), model::FrameKind::kPython);
  EXPECT_EQ(frameKindOf("??", "at::add"), model::FrameKind::kCpp);
  EXPECT_EQ(frameKindOf("libc.so.6", "start"), model::FrameKind::kCpp);
  EXPECT_EQ(frameKindOf("RegisterCUDA.cpp", "f"), model::FrameKind::kCpp);
  EXPECT_EQ(frameKindOf("", "torch::unwind::unwind()"), model::FrameKind::kCpp);
  EXPECT_EQ(frameKindOf("none", "x"), model::FrameKind::kOther);
}

}  // namespace
}  // namespace tidegauge::readers::torch
