#include "analysis/trace/clean_up.h"

#include <gtest/gtest.h>

#include "analysis/growth/churn.h"
#include "analysis/growth/growth.h"
#include "analysis/growth/wall.h"
#include "model/recorded_work.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using model::Trace;
using testing::TraceBuilder;

// A program that was recorded, and whose end was seen, or not.
Trace recorded(TraceBuilder& b, bool ended) {
  Trace trace = b.build();
  auto run = std::make_shared<model::RecordedRun>();
  run->processes.process_id = {3};
  run->processes.ended_ns = {ended ? int64_t{1} << 60 : model::kNotRecorded};
  auto work = std::make_shared<model::RecordedWork>();
  work->run = run;
  work->process_id = 3;
  trace.work = work;
  return trace;
}

// A temporary of 8 MiB each step; every `kept`-th also a block that is kept; at last everything is
// freed.
struct Program {
  TraceBuilder b;
  std::vector<uint64_t> held;
  uint64_t next = kA;

  Program() { b.time(1'000'000); }
  uint64_t alloc(const char* stack, uint64_t bytes) {
    uint64_t address = next;
    next += 64 * kMiB;
    b.stack({std::string(stack) + "@app.py:1"}).alloc(address, bytes);
    return address;
  }
  void work(int steps, int kept) {
    for (int step = 0; step < steps; ++step) {
      b.free(alloc("temporary", 8 * kMiB), 8 * kMiB);
      if (kept > 0 && step % kept == 0) held.push_back(alloc("kept", kMiB));
    }
  }
  void freeAll() {
    for (uint64_t address : held) b.free(address, kMiB);
    held.clear();
  }
};

TEST(CleanUp, BeginsAfterTheLastRequestOfAnEndedProgram) {
  Program program;
  program.work(10, 2);
  program.freeAll();
  Trace trace = recorded(program.b, true);
  EXPECT_EQ(trace.devices[0].steps(), 45U);
  EXPECT_EQ(cleanUpStep(trace, trace.devices[0]), 33U);  // with the free of the last temporary
}

TEST(CleanUp, IsNoneWhereNoEndIsKnown) {
  Program runs_on, snapshot;
  runs_on.work(10, 2);
  runs_on.freeAll();
  Trace trace = recorded(runs_on.b, false);
  EXPECT_EQ(cleanUpStep(trace, trace.devices[0]), trace.devices[0].steps());
  snapshot.work(10, 2);
  snapshot.freeAll();
  trace = snapshot.b.build();
  EXPECT_EQ(cleanUpStep(trace, trace.devices[0]), trace.devices[0].steps());
}

TEST(CleanUp, ARefusedRequestIsWorkToo) {
  Program program;
  program.work(10, 2);
  program.b.free(program.held.back(), kMiB);
  program.b.oom(0, 64 * kMiB);
  program.held.pop_back();
  program.freeAll();
  Trace trace = recorded(program.b, true);
  EXPECT_EQ(cleanUpStep(trace, trace.devices[0]), trace.devices[0].steps() - 8);
}

TEST(CleanUp, WaitsForTheLastDevice) {
  TraceBuilder b;
  b.device(0).time(100).alloc(kA, kMiB).freeRequested(kA, kMiB).freeCompleted(kA, kMiB);
  b.time(300).freeRequested(kA + kMiB, kMiB);
  b.device(1).time(200).alloc(kA, kMiB).freeCompleted(kA, kMiB);
  Trace trace = recorded(b, true);
  EXPECT_EQ(cleanUpStep(trace, trace.devices[0]), 3U);  // the free at 300 µs
  EXPECT_EQ(cleanUpStep(trace, trace.devices[1]), 1U);
}

TEST(CleanUp, ADeviceOfWhichNothingWasAskedHasNone) {
  TraceBuilder b;
  b.time(100).freeRequested(kA, kMiB).freeCompleted(kA, kMiB);
  Trace trace = recorded(b, true);
  EXPECT_EQ(cleanUpStep(trace, trace.devices[0]), 2U);
}

TEST(CleanUp, DoesNotHideALeak) {
  for (bool ended : {true, false}) {
    Program program;
    program.work(400, 1);
    size_t leaked = program.held.size();
    program.freeAll();
    AnalysedTrace trace(recorded(program.b, ended));
    Growth growth = findGrowth(trace, *trace.devices[0]);
    if (!ended) {  // may continue: then a request is done
      EXPECT_TRUE(growth.stacks.empty());
      EXPECT_EQ(growth.points.end, trace.devices[0]->device.steps());
      continue;
    }
    ASSERT_EQ(growth.stacks.size(), 1U);
    const GrowingStack& leak = growth.stacks[0];
    EXPECT_EQ(trace.labels.label(leak.stack), "app.py:1 kept");
    EXPECT_EQ(leak.retained_blocks, leaked);
    EXPECT_EQ(leak.retained_bytes, leaked * kMiB);
    EXPECT_EQ(leak.given_back_bytes, leaked * kMiB);
    EXPECT_EQ(leak.kind, GrowingStack::Kind::kAccumulates);
    EXPECT_NEAR(leak.bytes_per_step, 250 * kMiB, kMiB);  // four events a step
    EXPECT_EQ(growth.points.steps.back() + 1, growth.points.end);
    EXPECT_TRUE(wallOf(trace, *trace.devices[0]).active.grows());
  }
}

TEST(CleanUp, APartOfTheMemoryMayStay) {
  Program program;
  program.work(400, 1);
  program.held.resize(100);
  program.freeAll();
  AnalysedTrace trace(recorded(program.b, true));
  Growth growth = findGrowth(trace, *trace.devices[0]);
  ASSERT_EQ(growth.stacks.size(), 1U);
  EXPECT_EQ(growth.stacks[0].retained_bytes, 400 * kMiB);
  EXPECT_EQ(growth.stacks[0].given_back_bytes, 100 * kMiB);
}

TEST(CleanUp, WhatItFreesIsNotChurn) {
  for (bool ended : {true, false}) {
    Program program;
    program.work(10, 2);
    program.freeAll();
    AnalysedTrace trace(recorded(program.b, ended));
    const DeviceAnalysis& device = *trace.devices[0];
    Churn churn = churnOf(trace, device, samplePointsOf(trace, device));
    EXPECT_EQ(churn.allocations, 15U);
    // The last temporary, too, is freed after the program's last request.
    EXPECT_EQ(churn.blocks.back(), ended ? 9U : 15U);
    EXPECT_EQ(churnIn(trace.trace, device, 0, device.device.steps()).size(), ended ? 9U : 15U);
  }
}

// Weights, a working set that is emptied at times, everything freed at the end: nothing grows.
TEST(CleanUp, AProgramThatBehavesIsNotBlamed) {
  Program program;
  for (int i = 0; i < 20; ++i) program.held.push_back(program.alloc("weights", kMiB));
  std::vector<uint64_t> weights = std::move(program.held);
  for (int request = 0; request < 12; ++request) {
    program.held.clear();
    program.work(40, 1);
    if (request < 11) program.freeAll();
  }
  program.freeAll();
  program.held = weights;
  program.freeAll();
  AnalysedTrace trace(recorded(program.b, true));
  Growth growth = findGrowth(trace, *trace.devices[0]);
  EXPECT_EQ(growth.verdict, Growth::Verdict::kReported);
  EXPECT_TRUE(growth.stacks.empty());
  EXPECT_LT(growth.points.end, trace.devices[0]->device.steps());
}

}  // namespace
}  // namespace tidegauge::analysis
