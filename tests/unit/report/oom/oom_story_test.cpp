#include "report/oom/oom_story.h"

#include <gtest/gtest.h>

#include "model/recorded_work.h"
#include "report/oom/oom_json.h"
#include "support/bytes.h"
#include "support/messy_trace.h"
#include "support/trace_builder.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using analysis::OomVerdict;
using analysis::Verdict;
using testing::TraceBuilder;

struct Told {
  AnalysedTrace analysed;
  std::vector<analysis::OomReport> ooms;
  OomVerdict verdict;
  explicit Told(TraceBuilder& b, std::optional<uint64_t> total_bytes = {})
      : analysed(b.build()),
        ooms(analysis::oomsOf(analysed, *analysed.devices[0])),
        verdict(analysis::verdictOf(analysed, *analysed.devices[0], ooms.back(),
                                    {.total_bytes = total_bytes})) {}
  std::string row(size_t i) const { return plainText(verdictSentences(verdict).at(i).parts); }
  std::string sum() const { return plainText(sumSentence(verdict).parts); }
};

TEST(OomStory, HowOftenTheSameWasRefusedAndSinceWhen) {
  TraceBuilder b;
  b.segmentAlloc(kA, 100 * kMiB).time(1'790'000'012'300'000).oom(30 * kMiB, 500 * kMiB);
  Told told(b);
  EXPECT_FALSE(told.ooms[0].refusals);
  constexpr int64_t kFirst_us = 1'790'000'000'000'000;
  auto words = [&](std::optional<uint64_t> refusals) -> std::string {
    told.ooms[0].refusals = refusals;
    told.ooms[0].first_refusal_ns = kFirst_us * 1000;
    auto told_of = refusalSentences(*told.analysed.devices[0], told.ooms, 0);
    return told_of.empty() ? "" : plainText(told_of[0].parts);
  };
  EXPECT_EQ(words(120),
            "The request failed 120 times in a row, first at 2026-09-21 14:13:20 UTC, last 12.300 "
            "s later.");
  EXPECT_EQ(words(1), "");
  EXPECT_EQ(words(std::nullopt), "") << "a snapshot does not say";
}

// 8 GiB, 4 GiB, 2 GiB, each once or more.
TEST(OomStory, ASeriesOfFallingRequestsIsReportedTogether) {
  TraceBuilder b;
  b.stack({"want@a.c:1"}).time(1'790'000'000'000'000);
  for (uint64_t size : {8, 4, 2}) b.oom(kGiB, size * kGiB);
  Told told(b);
  told.ooms[0].first_refusal_ns = 1'789'999'999'500'002'000;
  told.ooms[1].refusals = 3;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(plainText(refusalSentences(*told.analysed.devices[0], told.ooms, i).at(0).parts),
              "Requests of its call site failed 5 times in a row, from 8.00 GiB down to 2.00 GiB, "
              "first at 2026-09-21 14:13:19 UTC, last 0.500 s later.");
  }
}

struct ToldOfDriver {
  AnalysedTrace analysed;
  OomVerdict verdict;
  ToldOfDriver(uint64_t request_mib, std::optional<int64_t> told_us)
      : analysed(made(request_mib, told_us)),
        verdict(analysis::verdictOf(analysed, *analysed.devices[0],
                                    analysis::oomsOf(analysed, *analysed.devices[0]).back())) {}
  // 448 MiB are held, 64 of them since the driver reported 616 of 1,000 free.
  static model::Trace made(uint64_t request_mib, std::optional<int64_t> told_us) {
    TraceBuilder b;
    b.time(1'000'000).segmentAlloc(kA, 384 * kMiB).alloc(kA, 384 * kMiB);
    b.time(3'000'000).segmentAlloc(kA + kGiB, 64 * kMiB).alloc(kA + kGiB, 64 * kMiB);
    b.time(4'000'000).oom(model::kUnknownBytes, request_mib * kMiB);
    model::Trace trace = b.build();
    trace.devices.at(0).has_allocator = false;
    auto work = std::make_shared<model::RecordedWork>();
    if (told_us) {
      work->answers = {.time_ns = {*told_us * 1000},
                       .device = {0},
                       .free_bytes = {616 * kMiB},
                       .total_bytes = {1000 * kMiB}};
    }
    trace.work = work;
    return trace;
  }
  std::string row() const { return plainText(verdictSentences(verdict).at(0).parts); }
};

TEST(OomStory, WithoutAnAllocatorTheDriverIsQuoted) {
  ToldOfDriver told(600, 2'000'000);
  EXPECT_EQ(
      told.row(),
      "Capacity. The driver had 616 MiB of 1,000 MiB free, as it reported to the program 2.000 s "
      "before; since then this process took 64.0 MiB. 48.0 MiB were missing. The request "
      "fits only if this process frees 48.0 MiB first.");
  EXPECT_EQ(plainText(sumSentence(told.verdict).parts),
            "448 MiB held by this process + 552 MiB free in the "
            "driver + 0 B elsewhere = 1,000 MiB, the whole device.");
  nlohmann::json json = verdictJson(told.analysed, told.verdict);
  EXPECT_EQ(json["driver_free"]["free_bytes"], 616 * kMiB);
  EXPECT_TRUE(json["from"].is_null()) << "there are no lists of free blocks";
  EXPECT_TRUE(json["servable"].empty());
}

TEST(OomStory, WithoutAnAllocatorItSaysWhatCanNeverFit) {
  std::string row = ToldOfDriver(1200, 2'000'000).row();
  EXPECT_NE(
      row.find("The request is 200 MiB more than the device has (1,000 MiB), so it can never fit."),
      std::string::npos)
      << row;
}

TEST(OomStory, WithoutAnAllocatorARefusalInSpiteOfEnoughIsNotACapOfPyTorch) {
  EXPECT_EQ(
      ToldOfDriver(500, 2'000'000).row(),
      "No verdict. The driver had 616 MiB of 1,000 MiB free, as it reported to the program 2.000 s "
      "before; since then this process took 64.0 MiB. That was enough for the request, so "
      "other processes took it in between, or a limit refused the request.");
  ToldOfDriver unheard(500, std::nullopt);
  EXPECT_EQ(unheard.row(), "No verdict. The file does not contain the free memory of the driver.");
  EXPECT_EQ(plainText(sumSentence(unheard.verdict).parts), "448 MiB held by this process.");
}

TEST(OomStory, TheSumNamesEveryPart) {
  TraceBuilder b;
  b.segmentAlloc(kA, 100 * kMiB).alloc(kA, 60 * kMiB).oom(30 * kMiB, 500 * kMiB);
  Told told(b, kGiB);
  EXPECT_EQ(told.sum(),
            "60.0 MiB active + 40.0 MiB free inside segments + 30.0 MiB free in the driver + 894 "
            "MiB elsewhere = 1,024 MiB, the whole device.");
  EXPECT_EQ(told.row(0),
            "Held by others. 894 MiB of the device are outside this allocator (CUDA contexts, "
            "libraries, other processes).");
  EXPECT_EQ(told.row(1),
            "Capacity. Even if all free memory were one range, 430 MiB would be missing.");
}

TEST(OomStory, ASumThatDoesNotCloseSaysSo) {
  TraceBuilder b;
  b.segmentAlloc(kA, 100 * kMiB).alloc(kA, 60 * kMiB).oom(30 * kMiB, 500 * kMiB);
  Told told(b);
  EXPECT_EQ(told.sum().find("do not add up"), std::string::npos);
  told.verdict.reserved_bytes += 5 * kMiB;
  EXPECT_NE(told.sum().find("the file contradicts itself by +5.0 MiB"), std::string::npos)
      << told.sum();
}

TEST(OomStory, WithoutTheDriversWordTheSumEndsAtReserved) {
  TraceBuilder b;
  b.segmentAlloc(kA, 100 * kMiB).alloc(kA, 60 * kMiB).oom(model::kUnknownBytes, 500 * kMiB);
  Told told(b);
  EXPECT_EQ(told.sum(), "60.0 MiB active + 40.0 MiB free inside segments = 100 MiB reserved.");
  EXPECT_EQ(told.row(0), "No verdict. The file does not contain the free memory of the driver.");
}

TEST(OomStory, ALimitIsBounded) {
  TraceBuilder b;
  b.segmentAlloc(kA, 100 * kMiB).alloc(kA, 60 * kMiB).oom(70 * kGiB, 80 * kMiB);
  Told told(b);
  EXPECT_NE(told.row(0).find("The limit is between 100 MiB and 180 MiB."), std::string::npos)
      << told.row(0);
  EXPECT_NE(told.sum().find("available without the limit"), std::string::npos) << told.sum();
}

TEST(OomStory, ALimitThatMovedHasNoBounds) {
  TraceBuilder b;
  b.segmentAlloc(kA, 3000 * kMiB).segmentFree(kA, 3000 * kMiB);
  b.segmentAlloc(kA, 100 * kMiB).alloc(kA, 100 * kMiB).oom(2000 * kMiB, 500 * kMiB);
  Told told(b);
  EXPECT_NE(
      told.row(0).find("Refused although memory was free. The driver had 2,000 MiB free, and the "
                       "allocator needed 500 MiB. Memory was probably freed after the refusal, by "
                       "this or another process, because no fixed limit explains it: the process "
                       "had 3,000 MiB reserved at some time, and a request that would have reached "
                       "600 MiB failed."),
      std::string::npos)
      << told.row(0);
  EXPECT_EQ(told.row(0).find("is between"), std::string::npos);
  EXPECT_TRUE(verdictJson(told.analysed, told.verdict)["cap"]["would_fit"].is_null());
}

TEST(OomStory, PiecesAreThoseOfTheReasonAlone) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 18 * kMiB);
  b.stream(7).segmentAlloc(kA + kGiB, 110 * kMiB).alloc(kA + kGiB, 10 * kMiB);
  b.stream(0).oom(38 * kMiB, 40 * kMiB);
  Told told(b);
  EXPECT_EQ(told.row(1),
            "Fragmentation. 2.0 MiB were in one free range, and the driver had 38.0 MiB free. "
            "Together that is enough, but no single range is. A new segment needed 2.0 MiB more.");
}

TEST(OomStory, ALargePieceThatMayNotServeIsNotCalledTooSmall) {
  TraceBuilder b;
  b.segmentAlloc(kA, 200 * kMiB).alloc(kA, 90 * kMiB).oom(kMiB, 512 * 1024);
  Told told(b);
  EXPECT_NE(
      told.row(0).find("110 MiB were in one free range, and the driver had 1.0 MiB free. Together "
                       "that is enough, but a range that is large enough must not serve this "
                       "request"),
      std::string::npos)
      << told.row(0);
  nlohmann::json lists = verdictJson(told.analysed, told.verdict)["servable"];
  EXPECT_EQ(lists[0]["size_class"], "large");
  EXPECT_EQ(lists[0]["fits"], false);  // though the list serves larger requests
}

TEST(OomStory, AListOfAnotherStreamCanFit) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 20 * kMiB);
  b.stream(7).segmentAlloc(kA + kGiB, 110 * kMiB).alloc(kA + kGiB, 10 * kMiB);
  b.stream(0).oom(10 * kMiB, 50 * kMiB);
  Told told(b);
  nlohmann::json lists = verdictJson(told.analysed, told.verdict)["servable"];
  EXPECT_EQ(lists[0]["fits"], true);
  EXPECT_EQ(lists[1]["fits"], false);
}

TEST(OomStory, BytesThatTwoStacksPinAreSaidToBeShared) {
  TraceBuilder b;
  b.segmentAlloc(kA, 200 * kMiB).stack({"f@/home/me/a.py:1"}).alloc(kA, 2 * kMiB);
  b.stack({"g@/home/me/b.py:2"}).alloc(kA + 10 * kMiB, 40 * kMiB);
  b.segmentAlloc(kA + kGiB, 100 * kMiB).alloc(kA + kGiB, 4 * kMiB).oom(0, 500 * kMiB);
  Told told(b);
  std::vector<Sentence> pins = pinSentences(told.analysed, 0, told.verdict.pinned, 5, 5);
  ASSERT_EQ(pins.size(), 2U);
  EXPECT_EQ(
      plainText(pins[0].parts),  // most per live byte
      "One block of 2.0 MiB from a.py:1 f keeps 158 MiB of free memory from the driver, together "
      "with blocks of other stacks.");
  EXPECT_EQ(plainText(pins[1].parts),
            "2 blocks of 4.0 MiB to 40.0 MiB from b.py:2 g keep 254 MiB of free memory from the "
            "driver, 158 MiB of it together with blocks of other stacks.");
  EXPECT_EQ(pins[1].link->view, "state");
}

TEST(OomStory, ThePageAnswerOfMessyTracesCanBeWritten) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    AnalysedTrace analysed(testing::messyTrace({.seed = seed, .wild = seed % 2 == 0}));
    for (const auto& device : analysed.devices) {
      std::vector<analysis::OomReport> ooms = analysis::oomsOf(analysed, *device);
      for (size_t i = 0; i < ooms.size(); ++i) {
        nlohmann::json page = oomPageJson(analysed, *device, ooms, i, {});
        EXPECT_FALSE(page.dump().empty());
        EXPECT_LE(page["pieces"]["rows"].size(), 200U);
      }
    }
  }
}

}  // namespace
}  // namespace tidegauge::report
