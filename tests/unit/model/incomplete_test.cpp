// Which figures a loss, or something unwatched, touches.
#include "model/incomplete.h"

#include <gtest/gtest.h>

#include <memory>

#include "model/recorded_work.h"

namespace tidegauge::model {
namespace {

using F = Figures;

TEST(Incomplete, ALossTouchesWhatItIsAbout) {
  EXPECT_EQ(figuresOfLoss("memory ring full"), FigureSet({F::kMemory, F::kBlocks}));
  EXPECT_EQ(figuresOfLoss("no room for a launch"), FigureSet({F::kLaunches}));
  EXPECT_EQ(figuresOfLoss("no room for a copy"), FigureSet({F::kCopies}));
  EXPECT_EQ(figuresOfLoss("no stack"), FigureSet({F::kCallSites}));
  EXPECT_TRUE(losesMemoryCalls("memory ring full"));
  EXPECT_TRUE(losesMemoryCalls("a reason of a newer recorder"));
  EXPECT_FALSE(losesMemoryCalls("return without entry"));
  EXPECT_FALSE(losesMemoryCalls("no stack"));
  EXPECT_EQ(figuresOfLoss("of a later version"), FigureSet::all());
}

TEST(Incomplete, NamesOfFiguresComeBack) {
  FigureSet set = {F::kMemory, F::kCallSites, F::kKernelNames};
  EXPECT_EQ(listOf(set), "memory,call sites,kernel names");
  EXPECT_EQ(figuresNamed(listOf(set)), set);
  EXPECT_EQ(figuresNamed(listOf(FigureSet::all())), FigureSet::all());
  EXPECT_EQ(figuresNamed("memory,of a later version"), FigureSet::all());
  EXPECT_EQ(figuresNamed(""), FigureSet::all());
}

TEST(Incomplete, LossesAreAddedUpByReason) {
  auto run = std::make_shared<RecordedRun>();
  auto lose = [&](const char* reason, int64_t count) {
    run->losses.time_ns.push_back(1);
    run->losses.reason.push_back(run->strings.intern(reason));
    run->losses.count.push_back(count);
  };
  lose("no stack", 1000);
  lose("no stack", 234);
  lose("memory ring full", 0);
  run->unread.push_back({"copies", "malformed"});
  RecordedWork work;
  work.run = run;
  Incomplete incomplete = incompleteOf(work);
  EXPECT_EQ(incomplete.figures(), FigureSet({F::kCallSites, F::kCopies}));
  EXPECT_EQ(incomplete.words({F::kCallSites}), std::vector<std::string>{"lost: 1,234 × no stack"});
  EXPECT_EQ(incomplete.words({F::kCopies}),
            std::vector<std::string>{"not read: table copies: malformed"});
  EXPECT_TRUE(incomplete.words({F::kMemory}).empty());
}

TEST(Incomplete, RowsPassedOverAndAFileCutShortAreGaps) {
  auto run = std::make_shared<RecordedRun>();
  run->passed_over = {{"calls", 42}, {"calls.stack_id", 1}};
  RecordedWork work;
  work.run = run;
  EXPECT_EQ(incompleteOf(work).words({F::kMemory}),
            std::vector<std::string>{"not read: 42 rows of calls that contradict the rest"});
  EXPECT_EQ(
      gapsOf(work).words({F::kCallSites}),
      std::vector<std::string>{"not read: 1 row of calls.stack_id that contradicts the rest"});
  EXPECT_FALSE(incompleteOf(work).touches({F::kLaunches}));
  run->is_cut_short = true;
  EXPECT_EQ(incompleteOf(work).figures(), FigureSet::all());
}

TEST(Incomplete, WhatWasThereBeforeMakesLowerBounds) {
  Incomplete incomplete;
  incomplete.add({Figures::kMemory}, "it ran before", true);
  EXPECT_TRUE(incomplete.isAtLeast({Figures::kMemory}));
  EXPECT_FALSE(incomplete.isAtLeast({Figures::kLaunches}));  // nothing is missing of them
  incomplete.add({Figures::kMemory}, "a free was lost");
  EXPECT_FALSE(incomplete.isAtLeast({Figures::kMemory}));
  EXPECT_TRUE(incomplete.touches({Figures::kMemory}));
}

TEST(Incomplete, OfManyThingsTheRestIsOne) {
  Incomplete incomplete;
  for (size_t i = 0; i < 10'000; ++i) incomplete.add({F::kMemory}, std::to_string(i));
  incomplete.add({F::kCopies}, "the last");
  EXPECT_EQ(incomplete.missing().size(), Incomplete::kMaxMissing + 1);
  EXPECT_EQ(incomplete.words({F::kCopies}), std::vector<std::string>{"and more"});
  EXPECT_TRUE(incomplete.touches({F::kCopies}));
}

}  // namespace
}  // namespace tidegauge::model
