// Growth of a trace that is continued, by what is new, equals that of a trace that is built anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/growth/floor_blocks.h"
#include "analysis/growth/growth.h"
#include "analysis/trace/analysed_trace.h"
#include "model/recorded_work.h"
#include "readers/recording/growing_recording.h"
#include "readers/recording/open_recording.h"
#include "unit/readers/recording/tidy_programs.h"

namespace tidegauge::server {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;
using analysis::FloorBlocks;
using analysis::GrowingStack;
using analysis::Growth;
using model::Step;
using readers::recording::GrowingRecording;

void expectSame(const GrowingStack& a, const GrowingStack& b) {
  EXPECT_EQ(a.stack, b.stack);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.bytes_per_step, b.bytes_per_step);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_EQ(a.p, b.p);
  EXPECT_EQ(a.rises, b.rises);
  EXPECT_EQ(a.grown_bytes, b.grown_bytes);
  EXPECT_EQ(a.retained_bytes, b.retained_bytes);
  EXPECT_EQ(a.retained_blocks, b.retained_blocks);
  EXPECT_EQ(a.given_back_bytes, b.given_back_bytes);
  EXPECT_EQ(a.since_step, b.since_step);
  EXPECT_EQ(a.is_late, b.is_late);
  EXPECT_EQ(a.example_row, b.example_row);
  EXPECT_EQ(a.outstanding_bytes, b.outstanding_bytes);
}

void expectSame(const Growth& a, const Growth& b) {
  EXPECT_EQ(a.verdict, b.verdict);
  EXPECT_EQ(a.points.basis, b.points.basis);
  EXPECT_EQ(a.points.name, b.points.name);
  EXPECT_EQ(a.points.steps, b.points.steps);
  EXPECT_EQ(a.points.end, b.points.end);
  EXPECT_EQ(a.turnover, b.turnover);
  EXPECT_EQ(a.growing, b.growing);
  ASSERT_EQ(a.stacks.size(), b.stacks.size());
  for (size_t i = 0; i < a.stacks.size(); ++i) expectSame(a.stacks[i], b.stacks[i]);
}

// What happened in the readings of some recordings.
struct Seen {
  uint64_t continued = 0, resized = 0, kept = 0, again = 0, late_questions = 0;
  uint64_t grows = 0, grows_late = 0, by_steps = 0, by_events = 0;
};

// Two readings of each process take turns.
class GrowthTurns {
 public:
  GrowthTurns(testing::TidyPrograms& programs, Step steps_of_block, bool is_annotated, Seen& seen)
      : programs_(programs),
        recording_(programs.path(), {.is_followed = true, .takes_back = true}),
        steps_of_block_(steps_of_block),
        is_annotated_(is_annotated),
        seen_(seen) {}

  void read() {
    if (programs_.pick(2) == 0)
      for (const Shown& shown : shown_) recording_.lend(shown.now->trace);
    auto now = recording_.read();
    auto whole = readers::recording::openRecording(programs_.path(), {});
    ASSERT_TRUE(now.ok() && whole.ok());
    std::vector<Shown> next;
    for (model::Trace& trace : now.value()) {
      auto anew = std::make_unique<AnalysedTrace>(std::move(whole.value()[next.size()]));
      analysis::BeforeTrace before;
      if (const model::Continuation* it = recording_.continuationOf(trace)) {
        before = {std::move(shells_[it->of.get()]), *it};
        seen_.continued += before.analysed != nullptr ? 1 : 0;
        seen_.resized += it->resized.size();
      }
      auto analysed = std::make_unique<AnalysedTrace>(std::move(trace), nullptr, std::move(before));
      if (is_annotated_) annotate(*analysed, *anew);
      next.push_back({std::move(analysed), std::move(anew), programs_.pick(3) != 0});
      // Some readings are asked when a newer one is shown, or never.
      if (next.back().is_asked) compare(*next.back().now, *next.back().anew);
      if (::testing::Test::HasFailure()) return;
    }
    for (const Shown& shown : shown_) {
      if (!shown.is_asked && programs_.pick(2) == 0) compare(*shown.now, *shown.anew);
      if (::testing::Test::HasFailure()) return;
    }
    shells_.clear();
    for (Shown& shown : shown_) {
      const model::RecordedWork* work = shown.now->trace.work.get();
      shown.now->trace.annotations = {};
      recording_.takeBack(std::move(shown.now->trace));
      shells_[work] = std::move(shown.now);
    }
    shown_ = std::move(next);
  }

 private:
  struct Shown {
    std::unique_ptr<AnalysedTrace> now, anew;
    bool is_asked = false;
  };

  // Steps of the program, as a profile would mark them.
  void annotate(AnalysedTrace& now, AnalysedTrace& anew) {
    for (AnalysedTrace* analysed : {&now, &anew}) {
      analysed->trace.annotations.name.assign(1, base::StringId(0));
      for (auto& device : analysed->devices) {
        for (Step step = 7; step + 90 < device->device.steps(); step += 90) {
          analysis::Phase phase;
          phase.annotation = 0;
          phase.begin_step = step;
          phase.end_step = step + 80;
          device->phases.push_back(phase);
        }
      }
    }
  }

  void compare(const AnalysedTrace& now, const AnalysedTrace& anew) {
    ASSERT_EQ(now.devices.size(), anew.devices.size());
    for (size_t i = 0; i < now.devices.size(); ++i) {
      const DeviceAnalysis &a = *now.devices[i], &b = *anew.devices[i];
      auto blocksOf = [&] {
        return std::static_pointer_cast<const FloorBlocks>(a.settled_work ? a.settled_work->get()
                                                                          : nullptr);
      };
      if (a.settled_work && !blocksOf())
        a.settled_work->keep(std::make_shared<const FloorBlocks>(steps_of_block_));
      auto before = blocksOf();
      Growth growth = findGrowth(now, a);
      expectSame(growth, findGrowth(anew, b));
      if (before) {
        auto after = blocksOf();
        uint64_t fresh = after->size() - before->size();
        seen_.kept += before->size();
        seen_.again += after->computed() - before->computed() - fresh;
        seen_.late_questions += before->settled() > a.settled_steps ? 1 : 0;
      }
      for (const GrowingStack& stack : growth.stacks) {
        ++seen_.grows;
        seen_.grows_late += stack.is_late ? 1 : 0;
      }
      ++(growth.points.basis == analysis::SamplePoints::Basis::kSteps ? seen_.by_steps
                                                                      : seen_.by_events);
      for (uint64_t most : {1U, 20U, 300U}) {
        std::vector<Step> points;
        for (Step step = 0; step < a.clean_up_step;
             step += 1 + static_cast<Step>(programs_.pick(2 * most)))
          points.push_back(step);
        ASSERT_EQ(floorsOf(now, a, points), floorsOf(anew, b, points)) << most;
      }
    }
  }

  testing::TidyPrograms& programs_;
  GrowingRecording recording_;
  Step steps_of_block_;
  bool is_annotated_;
  Seen& seen_;
  std::vector<Shown> shown_;
  std::map<const model::RecordedWork*, std::unique_ptr<AnalysedTrace>> shells_;
};

TEST(ContinuedGrowth, IsAsBuiltAnew) {
  Seen seen;
  constexpr Step kStepsOfBlock[] = {3, 64, 250, 1000};
  for (uint32_t seed = 1; seed <= 16; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::TidyPrograms programs(seed);
    GrowthTurns turns(programs, kStepsOfBlock[seed % 4], seed % 3 == 0, seen);
    for (int step = 0; step < 24; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      bool leaks = seed % 4 == 1 || (seed % 4 == 2 && step > 11);
      for (int i = 0; i < 20; ++i) {
        if (leaks) programs.leak(100 + static_cast<uint64_t>(i % 2), 512);
        programs.add(5 + programs.pick(30));
      }
      // Blocks of memory that turn out smaller, and then larger, long after they began.
      if (step < 8) programs.hold();
      if (step > 7) programs.release();
      turns.read();
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(seen.continued, 150U);
  EXPECT_GT(seen.resized, 20U);
  EXPECT_GT(seen.kept, 1000U);
  EXPECT_GT(seen.again, 10U);
  EXPECT_GT(seen.late_questions, 10U);
  EXPECT_GT(seen.grows, 30U);
  EXPECT_GT(seen.grows_late, 5U);
  EXPECT_GT(seen.by_steps, 50U);
  EXPECT_GT(seen.by_events, 50U);
}

}  // namespace
}  // namespace tidegauge::server
