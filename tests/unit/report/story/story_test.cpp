#include "report/story/story.h"

#include <gtest/gtest.h>

#include "report/oom/advice_words.h"
#include "report/story/finding_words.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using model::BlockState;
using testing::TraceBuilder;

struct Told {
  Story story;
  std::vector<analysis::Advice> advice;
  std::vector<FindingWords> findings;
  std::string text;  // headline, sentences and findings
};
Told tell(TraceBuilder& b) {
  AnalysedTrace analysed(b.build());
  Told told;
  analysis::DeviceSummary summary = analysis::summarise(analysed, *analysed.devices[0]);
  analysis::Judgement judgement = analysis::judge(analysed, summary);
  told.story = makeStory(analysed, summary, judgement);
  told.advice = std::move(judgement.advice);
  told.text = told.story.headline + "\n";
  for (const Sentence& sentence : told.story.sentences) {
    told.text += plainText(sentence.parts) + "\n";
  }
  for (const analysis::Finding& finding : told.story.findings) {
    told.findings.push_back(findingWords(analysed, summary, finding));
    told.text += plainText(findingSentence(analysed, summary, finding).parts) + "\n";
  }
  return told;
}
bool says(const Told& told, const std::string& text) {
  return told.text.find(text) != std::string::npos;
}

TEST(Story, ComparedSizesShareAUnit) {
  TraceBuilder b;
  b.segmentAlloc(kA, 900 * kMiB).alloc(kA + 700 * kMiB, 200 * kMiB).oom(3842 * kMiB, 4008 * kMiB);
  Told told = tell(b);
  EXPECT_EQ(told.story.kind, Story::Kind::kOom);
  EXPECT_EQ(told.story.headline,
            "The program requested 4,008 MiB. The driver had 3,842 MiB free, and 700 MiB were free "
            "inside segments.");
  EXPECT_TRUE(says(told,
                   "Fragmentation. 700 MiB were in one free range, and the driver had 3,842 MiB "
                   "free. Together that is enough, but no single range is."));
  EXPECT_TRUE(says(told, "A new segment needed 166 MiB more."));
  EXPECT_TRUE(says(told,
                   "200 MiB active + 700 MiB free inside segments "
                   "+ 3,842 MiB free in the driver = 4,742 MiB"));
}

TEST(Story, ThePeakCanBeAtTheStartOfTheRecording) {
  TraceBuilder b;
  b.freeCompleted(kA, 50 * kMiB).alloc(kA, 30 * kMiB);
  b.finalSegment(kA, 60 * kMiB).block(30 * kMiB, BlockState::kActiveAllocated, 30 * kMiB);
  b.block(30 * kMiB, BlockState::kInactive);
  Told told = tell(b);
  EXPECT_TRUE(told.story.at_start);
  EXPECT_TRUE(says(told,
                   "The program held 50.0 MiB of active memory at the start of the recording, "
                   "when 60.0 MiB were reserved."))
      << told.text;
}

TEST(Story, SaysWhichOfSeveralFailuresItDescribes) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 20 * kMiB);
  b.oom(44 * kMiB, 100 * kMiB).oom(44 * kMiB, 300 * kMiB).alloc(kA + kGiB, 512);
  b.oom(44 * kMiB, 200 * kMiB);
  Told told = tell(b);
  EXPECT_EQ(told.story.eyebrow, "Out of memory, the worst of 3 failed requests");
  EXPECT_EQ(told.story.placeText(), ", at step 3");
  EXPECT_TRUE(says(told, "2 other requests failed, the largest for 200 MiB at step 5."))
      << told.text;
  TraceBuilder two;
  two.oom(44 * kMiB, 300 * kMiB).alloc(kA, 512).oom(44 * kMiB, 200 * kMiB);
  EXPECT_TRUE(says(tell(two), "1 other request failed: 200 MiB at step 2."));
  TraceBuilder one;
  one.alloc(kA, 512).oom(44 * kMiB, 300 * kMiB);
  told = tell(one);
  EXPECT_EQ(told.story.eyebrow + told.story.placeText(), "Out of memory at step 1");
  EXPECT_FALSE(says(told, "other request")) << told.text;
}

TEST(Story, PeaksOfDifferentStatesHaveEachTheirStep) {
  TraceBuilder b;
  b.segmentAlloc(kA, 60 * kMiB).segmentFree(kA, 60 * kMiB).segmentAlloc(kA, 20 * kMiB);
  b.alloc(kA, 20 * kMiB);
  EXPECT_EQ(tell(b).story.headline,
            "Peak active memory was 20.0 MiB at step 3; peak reserved memory was 60.0 MiB at step "
            "0.");
  TraceBuilder same;  // reserved was as high at the active peak
  same.segmentAlloc(kA, 20 * kMiB).alloc(kA, 20 * kMiB);
  EXPECT_EQ(tell(same).story.headline,
            "Peak active memory was 20.0 MiB; peak reserved memory was 20.0 MiB.");
}

TEST(Story, APeakWithInferredSizesIsALowerBound) {
  TraceBuilder b;
  b.free(kA, 3 * kMiB).free(kA + 10 * kMiB, 3 * kMiB).alloc(kA, 512);
  b.finalSegment(kA, 20 * kMiB).block(512, BlockState::kActiveAllocated, 512);
  b.block(20 * kMiB - 512, BlockState::kInactive);
  Told told = tell(b);
  EXPECT_TRUE(told.story.headline.starts_with("Peak active memory was at least 6.0 MiB"))
      << told.story.headline;
  EXPECT_TRUE(says(told, "The program held at least 6.0 MiB of active memory")) << told.text;
}

TEST(Story, OneEventIsAStateWithoutAPeak) {
  TraceBuilder b;
  b.freeCompleted(kA, 50 * kMiB);
  b.finalSegment(kA, 60 * kMiB).block(60 * kMiB, BlockState::kInactive);
  Told told = tell(b);
  EXPECT_EQ(told.story.kind, Story::Kind::kState);
  EXPECT_FALSE(says(told, "Peak") || says(told, "at the peak")) << told.text;
}

TEST(Story, OneNumberKeepsItsUnitWhereverItStands) {
  TraceBuilder b;
  b.oom(91 * kMiB, 5063 * kMiB);
  Told told = tell(b);
  EXPECT_EQ(told.story.headline, "The program requested 5,063 MiB. The driver had 91.0 MiB free.");
  EXPECT_TRUE(says(
      told, "The request could never fit: it is 4,972 MiB more than the process could have had"))
      << told.text;
  EXPECT_EQ(told.findings.at(0).unit, base::ByteUnit::kMiB);
}

TEST(Story, SaysWhoPinsAndWhatToTry) {
  TraceBuilder b;
  b.stack({"step@/home/me/optimizer.py:88"});
  for (uint64_t i = 0; i < 12; ++i) {
    b.segmentAlloc(kA + i * kGiB, 200 * kMiB).alloc(kA + i * kGiB, 2 * kMiB);
  }
  b.oom(100 * kMiB, 300 * kMiB);
  Told told = tell(b);
  EXPECT_TRUE(says(told,
                   "12 blocks of 2.0 MiB from optimizer.py:88 "
                   "step keep 2.32 GiB of free memory from the driver."))
      << told.text;
  ASSERT_FALSE(told.advice.empty());
  EXPECT_EQ(told.advice[0].kind, analysis::AdviceKind::kExpandable);
}

// The file does not contain the size of the device, and so how much others have.
TEST(Story, TheSizeOfTheDeviceClosesTheSum) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 20 * kMiB).oom(44 * kMiB, 100 * kMiB);
  AnalysedTrace analysed(b.build());
  auto told = [&](std::optional<uint64_t> capacity) {
    analysis::DeviceSummary summary = analysis::summarise(analysed, *analysed.devices[0]);
    std::string text;
    analysis::Judgement judgement = analysis::judge(analysed, summary, capacity);
    Story story = makeStory(analysed, summary, judgement);
    for (const Sentence& sentence : story.sentences) {
      text += plainText(sentence.parts) + " [" + sentence.sql + "]\n";
    }
    for (const analysis::Advice& one : judgement.advice) text += adviceText(analysed, one) + "\n";
    return text;
  };
  auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  std::string unknown = told({});
  EXPECT_TRUE(has(unknown, "= 64.0 MiB, the memory available to this process.")) << unknown;
  EXPECT_TRUE(has(unknown, "FROM oom_verdicts(0)")) << unknown;
  EXPECT_FALSE(has(unknown, "Held by others")) << unknown;
  std::string known = told(256 * kMiB);  // others have 192 MiB
  EXPECT_TRUE(has(known, "+ 192 MiB elsewhere = 256 MiB, the whole device.")) << known;
  EXPECT_TRUE(has(known, "Held by others. 192 MiB")) << known;
  EXPECT_TRUE(has(known, "FROM oom_verdicts_at(0, 268435456)")) << known;
  EXPECT_TRUE(has(known, "nvidia-smi")) << known;
  std::string less = told(64 * kMiB - 1);
  EXPECT_TRUE(has(less, "The device has 64.0 MiB, which is less than this sum.")) << less;
  EXPECT_FALSE(has(told(64 * kMiB), "The stated size"));
}

TEST(Story, AnUnknownRequestGetsNoVerdict) {
  TraceBuilder b;
  b.oom(100 * kMiB, model::kUnknownBytes);
  EXPECT_TRUE(
      says(tell(b), "No verdict. The file does not contain a plausible size of the request."));
}

TEST(Story, WhatHasNoStackIsNotPassedOver) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).noStack().alloc(kA, 6 * kMiB);
  b.stack({"f@/home/me/a.py:1"}).alloc(kA + 8 * kMiB, 4 * kMiB);
  EXPECT_TRUE(
      says(tell(b), "6.0 MiB have no stack. The largest holder of the rest is a.py:1 f: 4.0 MiB"));
}

TEST(Story, ARequestOfUnknownSizeIsSaidToBe) {
  TraceBuilder b;
  b.oom(kGiB, model::kUnknownBytes);
  Told told = tell(b);
  EXPECT_EQ(told.story.headline,
            "The program requested an unknown size. The driver had 1.00 GiB free.");
  EXPECT_FALSE(says(told, "a limit of the process"));
  EXPECT_FALSE(told.findings.at(0).bytes.has_value());
}

TEST(Story, FarApartSizesShareTheirUnitToo) {
  TraceBuilder b;
  b.oom(kGiB, 40 * kGiB);
  EXPECT_EQ(tell(b).story.headline,
            "The program requested 40.00 GiB. The driver had 1.00 GiB free.");
}

TEST(Story, SizesTooFarApartKeepTheirUnits) {
  TraceBuilder b;
  b.oom(5, 3072 * kGiB);
  EXPECT_EQ(tell(b).story.headline, "The program requested 3.00 TiB. The driver had 5 B free.");
  TraceBuilder c;
  c.oom(512, 20 * kMiB);
  EXPECT_EQ(tell(c).story.headline,
            "The program requested 20,480 KiB. The driver had 0.5 KiB free.");
  TraceBuilder d;
  d.oom(7, UINT64_MAX >> 1);
  EXPECT_EQ(tell(d).story.headline,
            "The program requested 8,388,608.00 TiB. The driver had 7 B free.");
}

TEST(Story, WhatAnOutOfMemoryDoesNotSayIsUnknown) {
  TraceBuilder b;
  b.oom(model::kUnknownBytes, 40 * kMiB);
  Told told = tell(b);
  EXPECT_EQ(told.story.headline,
            "The program requested 40.0 MiB. How much the driver had free is unknown.");
  EXPECT_FALSE(says(told, "The driver"));
}

TEST(Story, RowsThatReadTheSameAreSetApart) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB);
  b.stack({"forward@/t/site-packages/torch/nn/modules/linear.py:4", "forward@model.py:8",
           "main@train.py:2"});
  b.alloc(kA, 5 * kMiB);
  b.stack({"forward@/t/site-packages/torch/nn/modules/conv.py:9", "forward@model.py:8",
           "main@train.py:2"});
  b.alloc(kA + 8 * kMiB, 3 * kMiB);
  Told told = tell(b);
  EXPECT_TRUE(says(told, "The largest holder is model.py:8 forward › linear.py:4 forward: "))
      << told.text;
  EXPECT_TRUE(says(told, "The next is model.py:8 forward › conv.py:9 forward: ")) << told.text;
}

TEST(Story, NothingLeftIsSaidInWords) {
  TraceBuilder b;
  b.oom(0, 4 * kGiB);
  EXPECT_EQ(tell(b).story.headline, "The program requested 4.00 GiB. The driver had nothing free.");
}

TEST(Story, ALimitOfTheProcess) {
  TraceBuilder b;
  b.oom(5 * kGiB, 4 * kGiB);
  EXPECT_TRUE(
      says(tell(b),
           "A limit of the process. The driver had 5,120 MiB free, and the allocator needed "
           "4,096 MiB."));
}

TEST(Story, OneSegmentIsOneSegment) {
  TraceBuilder one;
  one.segmentFree(kA, 20 * kMiB).oom(0, 4 * kGiB);
  Told told = tell(one);
  EXPECT_TRUE(says(told, "the allocator returned 1 cached segment (20.0 MiB) to the driver"));
  EXPECT_TRUE(says(told, "before the request failed, in 1 segment"));
  TraceBuilder two;
  two.segmentFree(kA, 20 * kMiB).segmentFree(kA + 40 * kMiB, 20 * kMiB).oom(0, 4 * kGiB);
  told = tell(two);
  EXPECT_TRUE(says(told, "the allocator returned 2 cached segments (40.0 MiB) to the driver"));
  EXPECT_TRUE(says(told, "before the request failed, in 2 segments"));
}

TEST(Story, TheWorstOfSeveralIsReported) {
  TraceBuilder b;
  b.oom(0, kGiB).oom(0, 3 * kGiB).oom(0, 2 * kGiB);
  Told told = tell(b);
  EXPECT_EQ(told.story.step, 1U);
  EXPECT_TRUE(
      says(told,
           "Out of memory: 3 requests failed. Size of the one with the largest shortage, at "
           "step 1"));
  EXPECT_EQ(told.story.findings[0].severity, analysis::Finding::Severity::kHigh);
}

TEST(Story, HoldersAndTheFreePartsAroundThem) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).stack({"forward@/home/me/model.py:8", "main@/home/me/train.py:2"});
  b.alloc(kA, 5 * kMiB);
  b.finalSegment(kA, 20 * kMiB).block(5 * kMiB, BlockState::kActiveAllocated, 5 * kMiB);
  b.block(15 * kMiB, BlockState::kInactive);
  Told told = tell(b);
  EXPECT_EQ(told.story.headline,
            "Peak active memory was 5.0 MiB; peak reserved memory was 20.0 MiB.");
  EXPECT_TRUE(says(
      told, "The largest holder is model.py:8 forward ‹ train.py:2 main: 5.0 MiB in one block"));
  EXPECT_TRUE(says(told, "active blocks keep from the driver, in 1 segment"));
}

TEST(Story, WithoutEventsTheFinalStateIsReported) {
  TraceBuilder b;
  b.finalSegment(kA, 20 * kMiB).block(20 * kMiB, BlockState::kInactive);
  Told told = tell(b);
  EXPECT_EQ(told.story.kind, Story::Kind::kState);
  EXPECT_FALSE(told.story.step.has_value());
  EXPECT_TRUE(says(told, "torch.cuda.memory._record_memory_history()"));
}

TEST(Story, ABrokenIdentityIsAFinding) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 5 * kMiB);
  b.finalSegment(kA, 20 * kMiB).block(20 * kMiB, BlockState::kInactive);
  EXPECT_TRUE(says(tell(b), "The file contradicts itself: Active at the end"));
}

}  // namespace
}  // namespace tidegauge::report
