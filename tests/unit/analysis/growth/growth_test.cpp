#include "analysis/growth/growth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "analysis/growth/churn.h"
#include "analysis/growth/late_growth.h"
#include "analysis/growth/outstanding.h"
#include "support/bytes.h"
#include "support/messy_trace.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using testing::TraceBuilder;

// A program of steps; every address is used once.
class Steps {
 public:
  explicit Steps(bool annotated = true) : annotated_(annotated) { b.time(1'000'000); }
  // `work` runs in each of them.
  template <class Work>
  AnalysedTrace run(int steps, Work&& work) {
    for (int step = 0; step < steps; ++step) {
      int64_t begin = now_us_;
      work(step);
      if (annotated_) {
        b.annotation("step#" + std::to_string(step), begin, now_us_ - 1);
      }
    }
    return AnalysedTrace(b.build());
  }
  uint64_t alloc(const std::string& stack, uint64_t bytes) {
    uint64_t address = next_;
    next_ += 1 << 30;
    b.stack({stack + "@app.py:1"}).alloc(address, bytes);
    now_us_ += 1;
    size_[address] = bytes;
    return address;
  }
  void free(uint64_t address) {
    b.free(address, size_[address]);
    now_us_ += 2;
  }
  void temporary(const std::string& stack, uint64_t bytes) { free(alloc(stack, bytes)); }

  TraceBuilder b;

 private:
  bool annotated_;
  int64_t now_us_ = 1'000'000;
  uint64_t next_ = kA;
  std::map<uint64_t, uint64_t> size_;
};

std::string labelOf(const AnalysedTrace& trace, StackId stack) { return trace.labels.label(stack); }

TEST(Growth, ALeakAmongTemporariesOfItsOwnStack) {
  Steps steps;
  AnalysedTrace trace = steps.run(40, [&](int step) {
    steps.temporary("work", 64 * kMiB);
    steps.temporary("leak", static_cast<uint64_t>(1 + step * 7 % 5) * 8 * kMiB);
    steps.alloc("leak", 3 * kMiB);
  });
  Growth growth = findGrowth(trace, *trace.devices[0]);
  EXPECT_EQ(growth.verdict, Growth::Verdict::kReported);
  EXPECT_EQ(growth.points.name, "step");
  EXPECT_EQ(growth.points.program_steps, 40u);
  ASSERT_EQ(growth.stacks.size(), 1u);
  const GrowingStack& leak = growth.stacks[0];
  EXPECT_EQ(labelOf(trace, leak.stack), "app.py:1 leak");
  EXPECT_NEAR(leak.bytes_per_step, 3 * kMiB, 1);
  EXPECT_EQ(leak.kind, GrowingStack::Kind::kAccumulates);
  EXPECT_EQ(leak.retained_blocks, 40u);
  EXPECT_EQ(leak.retained_bytes, 120 * kMiB);
  EXPECT_EQ(leak.outstanding_bytes.size(), growth.points.size());
  EXPECT_EQ(leak.outstanding_bytes.back(), 117 * kMiB);  // before the last step
  EXPECT_GT(trace.trace.allocations.first_step[leak.example_row], leak.since_step);
}

TEST(Growth, ABlockThatIsReplacedByLargerOnes) {
  Steps steps;
  uint64_t held = steps.alloc("cat", 512);
  AnalysedTrace trace = steps.run(30, [&](int step) {
    uint64_t larger = steps.alloc("cat", static_cast<uint64_t>(step + 2) * kMiB);
    steps.free(held);
    held = larger;
  });
  Growth growth = findGrowth(trace, *trace.devices[0]);
  ASSERT_EQ(growth.stacks.size(), 1u);
  EXPECT_EQ(growth.stacks[0].kind, GrowingStack::Kind::kReplaced);
  EXPECT_NEAR(growth.stacks[0].bytes_per_step, kMiB, 1);
  EXPECT_EQ(growth.stacks[0].retained_blocks, 1u);
}

TEST(Growth, WeightsAndEmptiedCachesDoNotGrow) {
  Steps steps;
  for (int i = 0; i < 20; ++i) steps.alloc("weights", 8 * kMiB);
  std::vector<uint64_t> cache;
  AnalysedTrace trace = steps.run(60, [&](int step) {
    steps.temporary("work", 16 * kMiB);
    cache.push_back(steps.alloc("cache", kMiB));
    if (step % 15 == 14) {
      for (uint64_t entry : cache) steps.free(entry);
      cache.clear();
    }
  });
  Growth growth = findGrowth(trace, *trace.devices[0]);
  EXPECT_EQ(growth.verdict, Growth::Verdict::kReported);
  EXPECT_TRUE(growth.stacks.empty());
}

// Points inside the teeth: nearly every interval rises, Mann–Kendall gives p < 0.01, nothing leaks.
TEST(Growth, TokensOfARequestAreNotALeak) {
  Steps steps;
  std::vector<uint64_t> held;
  AnalysedTrace trace = steps.run(200, [&](int step) {
    held.push_back(steps.alloc("kv", kMiB));
    steps.temporary("logits", 4 * kMiB);
    if (step % 40 != 39) return;
    for (uint64_t block : held) steps.free(block);
    held.clear();
  });
  EXPECT_TRUE(findGrowth(trace, *trace.devices[0]).stacks.empty());
}

TEST(Growth, ALeakThatIsRarerThanTheSteps) {
  Steps steps;
  AnalysedTrace trace = steps.run(96, [&](int step) {
    steps.temporary("work", 16 * kMiB);
    if (step % 4 == 3) steps.alloc("evaluate", 2 * kMiB);
  });
  Growth growth = findGrowth(trace, *trace.devices[0]);
  ASSERT_EQ(growth.stacks.size(), 1u);
  EXPECT_NEAR(growth.stacks[0].bytes_per_step, kMiB / 2.0, 0.05 * kMiB / 2);
}

TEST(Growth, WithoutMarksThousandsOfEventsAreTheUnit) {
  Steps steps(false);
  AnalysedTrace trace = steps.run(500, [&](int) {
    for (int i = 0; i < 3; ++i) steps.temporary("work", 16 * kMiB);
    steps.alloc("leak", kMiB);  // one in 10 events
  });
  Growth growth = findGrowth(trace, *trace.devices[0]);
  EXPECT_EQ(growth.points.basis, SamplePoints::Basis::kEvents);
  EXPECT_GT(growth.turnover, kMinTurnover);
  ASSERT_EQ(growth.stacks.size(), 1u);
  EXPECT_NEAR(growth.stacks[0].bytes_per_step, 100 * kMiB, 5 * kMiB);
}

TEST(Growth, APartOfOneForwardPassShowsNothing) {
  Steps steps(false);
  AnalysedTrace trace = steps.run(100, [&](int) {
    steps.temporary("work", 2 * kMiB);
    steps.alloc("activation", kMiB);
  });
  Growth growth = findGrowth(trace, *trace.devices[0]);
  EXPECT_EQ(growth.verdict, Growth::Verdict::kTooLittleTurnover);
  EXPECT_NEAR(growth.turnover, 3, 0.2);
  EXPECT_TRUE(growth.stacks.empty());
}

TEST(Growth, FewerThanEightStepsNeverShowGrowth) {
  for (int count : {5, 6, 7}) {
    Steps steps;
    AnalysedTrace trace = steps.run(count, [&](int) { steps.alloc("leak", kMiB); });
    Growth growth = findGrowth(trace, *trace.devices[0]);
    EXPECT_EQ(growth.verdict, Growth::Verdict::kTooFewPoints) << count;
  }
  Steps steps;
  AnalysedTrace trace = steps.run(8, [&](int) {
    steps.temporary("work", kMiB);
    steps.alloc("leak", kMiB);
  });
  EXPECT_EQ(findGrowth(trace, *trace.devices[0]).stacks.size(), 1u);
}

TEST(Growth, FourRisesInFiveAreNeededNotThree) {
  auto risesIn = [](int every) {  // no leak in every `every`-th step
    Steps steps;
    AnalysedTrace trace =
        steps.run(13, [&](int step) {  // ten points after warm-up: too few to halve
          steps.temporary("work", kMiB);
          if (step % every != 0) steps.alloc("leak", kMiB);
        });
    return findGrowth(trace, *trace.devices[0]).stacks.size();
  };
  EXPECT_EQ(risesIn(6), 1u);
  EXPECT_EQ(risesIn(2), 0u);
}

// ---- growth that begins late --------------------------------------------------------------------

TEST(LateGrowth, IsFoundWithItsFirstStepAndTheRateSinceThen) {
  for (bool annotated : {true, false}) {
    Steps steps(annotated);
    AnalysedTrace trace = steps.run(200, [&](int step) {
      for (int i = 0; i < 3; ++i) steps.temporary("work", 16 * kMiB);  // 9 events
      steps.temporary("leak", 40 * kMiB);                              // 3
      if (step >= 140) steps.alloc("leak", kMiB);                      // 1
    });
    Growth growth = findGrowth(trace, *trace.devices[0]);
    ASSERT_EQ(growth.stacks.size(), 1u) << annotated;
    const GrowingStack& leak = growth.stacks[0];
    EXPECT_TRUE(leak.is_late);
    EXPECT_EQ(leak.since_step, 140u * 12 + 12);
    EXPECT_EQ(leak.retained_blocks, 60u);
    EXPECT_EQ(leak.kind, GrowingStack::Kind::kAccumulates);
    double rate = annotated ? kMiB : kMiB * 1000.0 / 13;
    EXPECT_NEAR(leak.bytes_per_step, rate, 0.05 * rate);
  }
}

TEST(LateGrowth, ARampThatEndsStairsAndTheLastToothAreNone) {
  Steps steps;
  std::vector<uint64_t> tooth;
  AnalysedTrace trace = steps.run(100, [&](int step) {
    steps.temporary("work", 16 * kMiB);
    if (step >= 60 && step < 85) steps.alloc("ramp", kMiB);
    if (step >= 50 && step < 88) steps.alloc("long ramp", kMiB);
    if (step == 60 || step == 70 || step == 80 || step == 90) steps.alloc("stairs", 16 * kMiB);
    if (step % 35 == 34) {
      for (uint64_t block : tooth) steps.free(block);
      tooth.clear();
    }
    tooth.push_back(steps.alloc("tooth", kMiB));  // the last tooth begins at step 69 and is cut off
  });
  EXPECT_TRUE(findGrowth(trace, *trace.devices[0]).stacks.empty());
}

// Nothing distinguishes what a new phase builds up from a leak, so it is not reported.
TEST(LateGrowth, ANewPhaseIsNone) {
  for (bool is_new_phase : {false, true}) {
    Steps steps;
    AnalysedTrace trace = steps.run(100, [&](int step) {
      bool is_late = step >= 65;
      for (const char* layer : {"first", "second", "third"}) {
        steps.temporary(std::string(is_late && is_new_phase ? "evaluation " : "") + layer,
                        8 * kMiB);
      }
      if (is_late) steps.alloc("output", kMiB);
    });
    EXPECT_EQ(findGrowth(trace, *trace.devices[0]).stacks.size(), is_new_phase ? 0u : 1u);
  }
}

TEST(LateGrowth, LoadingWithoutMarksReusesNoMemory) {
  for (bool is_loading : {false, true}) {
    Steps steps(false);
    AnalysedTrace trace = steps.run(300, [&](int step) {
      bool is_late = step >= 220;
      for (int i = 0; i < 4; ++i) steps.temporary("work", is_late && is_loading ? 512 : 8 * kMiB);
      if (is_late) steps.alloc("weights", 4 * kMiB);
    });
    EXPECT_EQ(findGrowth(trace, *trace.devices[0]).stacks.size(), is_loading ? 0u : 1u);
  }
}

TEST(LateGrowth, TheBentLineHasItsChangeAndItsSlope) {
  std::vector<double> floor(60, 100);
  for (size_t i = 40; i < floor.size(); ++i) floor[i] = 100 + 7.0 * static_cast<double>(i - 39);
  auto line = bentLineOf(floor, 12);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->change, 39u);
  EXPECT_DOUBLE_EQ(line->slope, 7);
  for (size_t i = 50; i < floor.size(); ++i) floor[i] = floor[49];  // a plateau
  EXPECT_FALSE(bentLineOf(floor, 12));
  for (size_t i = 40; i < floor.size(); ++i)
    floor[i] = 100 + std::exp2(static_cast<double>(i - 39));
  EXPECT_FALSE(bentLineOf(floor, 12)) << "the second half rises more than three times as fast";
  EXPECT_FALSE(bentLineOf(std::vector<double>(60, 5), 12));
  EXPECT_FALSE(bentLineOf({1, 2, 3}, 1));
}

TEST(SamplePoints, CountersAreLeftOff) {
  EXPECT_EQ(withoutCounter("ProfilerStep#12"), "ProfilerStep");
  EXPECT_EQ(withoutCounter("step 7"), "step");
  EXPECT_EQ(withoutCounter("iter_3"), "iter");
  EXPECT_EQ(withoutCounter("layers.0"), "layers.");
  EXPECT_EQ(withoutCounter("Optimizer.step#AdamW.step"), "Optimizer.step#AdamW.step");
  EXPECT_EQ(withoutCounter("42"), "42");
  EXPECT_EQ(withoutCounter(""), "");
}

// The batches of an evaluation after the training are more regular, but not the program's steps.
TEST(SamplePoints, TheLongestSeriesIsTheProgramsSteps) {
  TraceBuilder b;
  b.time(1'000'000);
  int64_t now_us = 1'000'000;
  auto mark = [&](const std::string& name, int events) {
    for (int i = 0; i < events; ++i) b.alloc(kA + static_cast<uint64_t>(now_us + i) * 4096, 512);
    b.annotation(name, now_us, now_us + events - 1);
    now_us += events;
  };
  for (int i = 0; i < 10; ++i) mark("train#" + std::to_string(i), 7 + i % 2);
  for (int i = 0; i < 15; ++i) mark("evaluation#" + std::to_string(i), 2);
  AnalysedTrace trace(b.build());
  EXPECT_EQ(samplePointsOf(trace, *trace.devices[0]).name, "train");
}

TEST(SamplePoints, MarksThatAreTooFewAreNamed) {
  TraceBuilder b;
  b.time(1000);
  for (int i = 0; i < 3; ++i) {
    for (uint64_t k = 0; k < 20; ++k) b.alloc(kA + k * kMiB, 512).free(kA + k * kMiB, 512);
    b.event(model::Action::kSnapshot, 0, 0);
  }
  AnalysedTrace analysed(b.build());
  SamplePoints points = samplePointsOf(analysed, *analysed.devices[0]);
  EXPECT_EQ(points.basis, SamplePoints::Basis::kEvents);
  EXPECT_EQ(points.marked_steps, 3U);
  EXPECT_EQ(points.marked_name, "snapshot");
  TraceBuilder once;
  once.time(1000).alloc(kA, 512).event(model::Action::kSnapshot, 0, 0).free(kA, 512);
  AnalysedTrace unmarked(once.build());
  EXPECT_EQ(samplePointsOf(unmarked, *unmarked.devices[0]).marked_steps, 0U);
}

TEST(SamplePoints, ManyStepsAreThinned) {
  Steps steps;
  AnalysedTrace trace = steps.run(3000, [&](int) { steps.temporary("work", kMiB); });
  SamplePoints points = samplePointsOf(trace, *trace.devices[0]);
  EXPECT_LE(points.size(), kMaxSamplePoints);
  EXPECT_EQ(points.stride, 6u);
  EXPECT_EQ(points.program_steps, 3000u);
  EXPECT_TRUE(std::is_sorted(points.steps.begin(), points.steps.end()));
}

TEST(Outstanding, ByStackAndAge) {
  Steps steps(false);
  std::vector<uint64_t> held;
  AnalysedTrace trace = steps.run(8, [&](int step) {
    held.push_back(steps.alloc("kept", kMiB));
    if (step == 7) steps.free(held[2]);
  });
  Outstanding found = neverFreed(trace, *trace.devices[0]);
  EXPECT_EQ(found.blocks, 7u);
  EXPECT_EQ(found.bytes, 7 * kMiB);
  EXPECT_EQ(found.older_bytes, 0u);
  ASSERT_EQ(found.stacks.size(), 1u);
  EXPECT_EQ(found.stacks[0].oldest_step, 0u);
  EXPECT_EQ(found.stacks[0].newest_step, 7u);
  uint64_t sum = 0;
  for (uint64_t bytes : found.stacks[0].by_quarter_bytes) sum += bytes;
  EXPECT_EQ(sum, found.bytes);
}

TEST(Outstanding, PendingBlocksAreFreedByTheProgram) {
  TraceBuilder b;
  b.stack({"f@a.py:1"}).alloc(kA, kMiB).freeRequested(kA, kMiB);
  AnalysedTrace trace(b.build());
  EXPECT_EQ(neverFreed(trace, *trace.devices[0]).blocks, 0u);
}

// alloc a · alloc b · free b · alloc c · free a · free c
TEST(Churn, AgeIsCountedInLaterAllocations) {
  Steps steps(false);
  uint64_t a = steps.alloc("a", kMiB);
  steps.temporary("b", 2 * kMiB);
  uint64_t c = steps.alloc("c", 4 * kMiB);
  steps.free(a);
  steps.free(c);
  AnalysedTrace trace(steps.b.build());
  const DeviceAnalysis& device = *trace.devices[0];
  Churn churn = churnOf(trace, device, samplePointsOf(trace, device));
  EXPECT_EQ(churn.allocations, 3u);
  EXPECT_EQ(churn.blocks, (std::array<uint64_t, 3>{2, 3, 3}));
  EXPECT_EQ(churn.bytes, (std::array<uint64_t, 3>{6 * kMiB, 7 * kMiB, 7 * kMiB}));
  EXPECT_EQ(churn.peak_bytes, 5 * kMiB);  // a and c
  ASSERT_EQ(churn.stacks.size(), 3u);
  EXPECT_EQ(labelOf(trace, churn.stacks[0].stack), "app.py:1 c");
}

TEST(Churn, IsReportedPerStepOrPerThousandEvents) {
  for (bool annotated : {true, false}) {
    Steps steps(annotated);
    AnalysedTrace trace = steps.run(500, [&](int) { steps.temporary("work", kMiB); });
    const DeviceAnalysis& device = *trace.devices[0];
    double events = device.device.steps();
    EXPECT_NE(std::fmod(events, 1000), 0);
    Churn churn = churnOf(trace, device, samplePointsOf(trace, device));
    EXPECT_EQ(churn.program_steps, annotated ? 500 : events / 1000);
    double expected = annotated ? kMiB : 500 * static_cast<double>(kMiB) * 1000 / events;
    EXPECT_EQ(churn.perStepBytes(), static_cast<uint64_t>(std::llround(expected)));
  }
}

TEST(Churn, TheWindowsEndExactly) {
  for (uint64_t later : {0, 1, 2, 10, 11, 100, 101}) {
    Steps steps(false);
    uint64_t first = steps.alloc("first", 512);
    for (uint64_t i = 0; i < later; ++i) steps.alloc("other", 512);
    steps.free(first);
    AnalysedTrace trace(steps.b.build());
    const DeviceAnalysis& device = *trace.devices[0];
    Churn churn = churnOf(trace, device, samplePointsOf(trace, device));
    EXPECT_EQ(churn.blocks[0], later <= 1 ? 1u : 0u) << later;
    EXPECT_EQ(churn.blocks[1], later <= 10 ? 1u : 0u) << later;
    EXPECT_EQ(churn.blocks[2], later <= 100 ? 1u : 0u) << later;
  }
}

TEST(Growth, MessyTracesAreReported) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    AnalysedTrace trace(testing::messyTrace({.seed = seed, .wild = seed % 2 == 0}));
    for (const auto& device : trace.devices) {
      Growth growth = findGrowth(trace, *device);
      EXPECT_LE(growth.stacks.size(), growth.growing);
      EXPECT_LE(neverFreed(trace, *device).blocks, trace.trace.allocations.size());
      EXPECT_LE(churnOf(trace, *device, growth.points).blocks[2], trace.trace.allocations.size());
    }
  }
}

}  // namespace
}  // namespace tidegauge::analysis
