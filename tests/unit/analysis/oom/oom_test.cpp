#include "analysis/oom/oom.h"

#include <gtest/gtest.h>

#include "analysis/summary.h"
#include "model/recorded_work.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using testing::TraceBuilder;

TEST(Oom, ARequestOfUnknownSizeLacksAnUnknownAmount) {
  TraceBuilder b;
  b.oom(10 * kMiB, model::kUnknownBytes);
  AnalysedTrace analysed(b.build());
  OomReport oom = oomsOf(analysed, *analysed.devices[0]).at(0);
  EXPECT_FALSE(oom.requested_bytes.has_value());
  EXPECT_FALSE(oom.known());
  EXPECT_EQ(oom.overBytes(), 0U);
  EXPECT_EQ(oom.ceilingBytes(), 10 * kMiB);
}

TEST(Oom, SaysWhatWasAskedLeftAndFree) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).alloc(kA, 5 * kMiB).stack({"f@/home/me/a.py:1"});
  b.oom(10 * kMiB, 30 * kMiB);
  AnalysedTrace analysed(b.build());
  std::vector<OomReport> ooms = oomsOf(analysed, *analysed.devices[0]);
  ASSERT_EQ(ooms.size(), 1U);
  EXPECT_EQ(ooms[0].step, 2U);
  EXPECT_EQ(ooms[0].overBytes(), 20 * kMiB);
  EXPECT_EQ(ooms[0].ceilingBytes(), 30 * kMiB);
  EXPECT_EQ(ooms[0].totals.active_bytes, 5 * kMiB);
  ASSERT_TRUE(ooms[0].free.has_value());
  EXPECT_EQ(ooms[0].free->largest_bytes, 15 * kMiB);
  EXPECT_TRUE(ooms[0].stack.valid());
}

TEST(Oom, ALimitOfTheProcessIsNotTheDriversShortage) {
  TraceBuilder b;
  b.oom(50 * kMiB, 30 * kMiB);
  AnalysedTrace analysed(b.build());
  EXPECT_EQ(oomsOf(analysed, *analysed.devices[0])[0].overBytes(), 0U);
}

TEST(Oom, CountsWhatItsOwnRetryReleased) {
  TraceBuilder b;
  b.segmentFree(kA + 80 * kMiB, 2 * kMiB).alloc(kA, 512);  // earlier: for another request
  b.segmentFree(kA + 40 * kMiB, 20 * kMiB);
  b.freeCompleted(kA + 20 * kMiB, 512);  // a pending block that it waited for
  b.unmap(kA + 60 * kMiB, 20 * kMiB).oom(0, 30 * kMiB);
  AnalysedTrace analysed(b.build());
  OomReport oom = oomsOf(analysed, *analysed.devices[0])[0];
  EXPECT_EQ(oom.given_back_segments, 2U);
  EXPECT_EQ(oom.given_back_bytes, 40 * kMiB);
}

TEST(Oom, AnOrdinaryFreeBeforeItIsNotItsOwn) {
  TraceBuilder b;
  b.segmentFree(kA + 40 * kMiB, 20 * kMiB).free(kA, 512).oom(0, 30 * kMiB);
  AnalysedTrace analysed(b.build());
  EXPECT_EQ(oomsOf(analysed, *analysed.devices[0])[0].given_back_segments, 0U);
}

model::Trace withoutAllocator(TraceBuilder& b) {
  model::Trace trace = b.build();
  trace.devices.at(0).has_allocator = false;
  return trace;
}

// cudaFree, cudaFree, cudaMalloc refused: nothing was released for the request.
TEST(Oom, WithoutAnAllocatorFreesBeforeItAreTheProgramsOwn) {
  for (bool has_allocator : {true, false}) {
    TraceBuilder b;
    b.alloc(kA, 512);
    b.segmentFree(kA + 40 * kMiB, 20 * kMiB).segmentFree(kA + 80 * kMiB, 20 * kMiB);
    b.oom(0, 30 * kMiB);
    model::Trace trace = b.build();
    trace.devices.at(0).has_allocator = has_allocator;
    AnalysedTrace analysed(std::move(trace));
    OomReport oom = oomsOf(analysed, *analysed.devices[0])[0];
    EXPECT_EQ(oom.given_back_segments, has_allocator ? 2U : 0U);
    EXPECT_EQ(oom.given_back_bytes, has_allocator ? 40 * kMiB : 0U);
    EXPECT_EQ(oom.first_step, has_allocator ? 1U : oom.step);
  }
}

// 60 of 100 MiB were free before the program took 20: 40 are left.
TEST(Oom, WithoutAnAllocatorTheDriversLastFigureShowsWhatWasLeft) {
  for (uint64_t of_event : {model::kUnknownBytes, 7 * kMiB}) {
    TraceBuilder b;
    b.time(1'000'000).segmentAlloc(kA, 10 * kMiB);
    b.time(3'000'000).segmentAlloc(kA + 64 * kMiB, 20 * kMiB);
    b.time(4'000'000).oom(of_event, 50 * kMiB);
    model::Trace trace = withoutAllocator(b);
    auto work = std::make_shared<model::RecordedWork>();
    work->answers = {.time_ns = {2'000'000'000},
                     .device = {0},
                     .free_bytes = {60 * kMiB},
                     .total_bytes = {100 * kMiB}};
    trace.work = work;
    AnalysedTrace analysed(std::move(trace));
    OomReport oom = oomsOf(analysed, *analysed.devices[0])[0];
    bool is_reported = of_event == model::kUnknownBytes;  // else the event has the figure
    EXPECT_EQ(oom.driver_free.has_value(), is_reported);
    EXPECT_EQ(oom.device_free_bytes, is_reported ? 40 * kMiB : 7 * kMiB);
    EXPECT_EQ(oom.overBytes(), is_reported ? 10 * kMiB : 43 * kMiB);
  }
}

TEST(Oom, IfTheFreeBytesAreUnknownTheLargestRequestIsTheWorst) {
  TraceBuilder b;
  for (uint64_t size : {100, 900, 512}) b.oom(model::kUnknownBytes, size * kMiB);
  AnalysedTrace analysed(b.build());
  EXPECT_EQ(worstOf(oomsOf(analysed, *analysed.devices[0])), 1U);
}

// Only what comes before the first try can help. A granted request in between ends the row.
TEST(Oom, OfARequestAndItsRetriesTheFirstIsReported) {
  auto tries = [](TraceBuilder& b) {
    b.stack({"step@a.py:4"}).oom(0, 8 * kMiB);
    for (int i = 0; i < 3; ++i) b.oom(0, 64 * kMiB);
  };
  TraceBuilder b;
  tries(b);
  AnalysedTrace analysed(b.build());
  std::vector<OomReport> ooms = oomsOf(analysed, *analysed.devices[0]);
  std::vector<bool> retries;
  for (const OomReport& oom : ooms) retries.push_back(oom.is_retry);
  EXPECT_EQ(retries, (std::vector<bool>{false, false, true, true}));
  EXPECT_EQ(worstOf(ooms), 1U);

  TraceBuilder more;
  tries(more);
  more.segmentAlloc(kA, 2 * kMiB).oom(0, 64 * kMiB).oom(0, 64 * kMiB);
  AnalysedTrace longer(more.build());
  EXPECT_EQ(worstOf(oomsOf(longer, *longer.devices[0])), 4U);
}

// 8 4 2 │ fits │ 1 │ other place 0.5 │ larger 9 4
TEST(Oom, FallingRequestsOfOneCallSiteAreOneSeries) {
  TraceBuilder b;
  b.stack({"want@a.c:1"});
  for (uint64_t size : {8, 4, 2}) b.oom(0, size * kMiB);
  b.segmentAlloc(kA, kMiB).oom(0, kMiB);
  b.stack({"other@a.c:9"}).oom(0, kMiB / 2);
  b.oom(0, 9 * kMiB).segmentFree(kA, kMiB).oom(0, 4 * kMiB);
  AnalysedTrace analysed(withoutAllocator(b));
  std::vector<OomReport> ooms = oomsOf(analysed, *analysed.devices[0]);
  std::vector<uint64_t> series;
  for (const OomReport& oom : ooms) series.push_back(oom.series);
  EXPECT_EQ(series, (std::vector<uint64_t>{1, 1, 1, 2, 3, 4, 4}));
  ooms[1].refusals = 5;
  RefusalSeries around = seriesAround(ooms, 2);
  EXPECT_EQ(around.first, 0U);
  EXPECT_EQ(around.last, 2U);
  EXPECT_EQ(around.requests, 7U);
  EXPECT_EQ(refusedRequests(ooms), 11U);
}

// worst.c has three calls on one line: three stacks of one call site.
TEST(Oom, OneCallSiteIsOneLineWithOneCaller) {
  auto series = [](const char* outer_a, const char* outer_b) {
    TraceBuilder b;
    b.stack({"want@/home/me/a.py:1", outer_a, "libc@start.c:1"}).oom(0, 8 * kMiB);
    b.stack({"want@/home/me/a.py:1", outer_b, "libc@start.c:2"}).oom(0, 4 * kMiB);
    AnalysedTrace analysed(b.build());
    return oomsOf(analysed, *analysed.devices[0]).back().series;
  };
  EXPECT_EQ(series("main@/home/me/a.py:9", "main@/home/me/a.py:9"), 1U);
  EXPECT_EQ(series("main@/home/me/a.py:9", "main@/home/me/a.py:10"), 2U);
}

// If there are very many, only the worst are examined in detail, wherever they are.
TEST(Oom, TheWorstIsAlwaysLookedAt) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB);
  for (int i = 0; i < 300; ++i) b.oom(0, (i == 250 ? 9 : 1) * kMiB);
  AnalysedTrace analysed(b.build());
  DeviceSummary summary = summarise(analysed, *analysed.devices[0]);
  EXPECT_EQ(summary.ooms.size(), 300U);
  EXPECT_EQ(summary.explained_oom, 250U);
  ASSERT_TRUE(summary.ooms[250].free.has_value());
  EXPECT_EQ(summary.ooms[250].free->bytes, 20 * kMiB);
  EXPECT_FALSE(summary.ooms[0].free.has_value());
  EXPECT_EQ(summary.ceiling_bytes, 20 * kMiB);
}

TEST(Oom, OfMoreThanAreLookedAtThatAreEquallyShortTheLastIs) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB);
  for (int i = 0; i < 300; ++i) b.oom(0, kMiB);
  AnalysedTrace analysed(b.build());
  DeviceSummary summary = summarise(analysed, *analysed.devices[0]);
  EXPECT_EQ(summary.explained_oom, 299U);
  EXPECT_TRUE(summary.ooms[299].free.has_value());
}

}  // namespace
}  // namespace tidegauge::analysis
