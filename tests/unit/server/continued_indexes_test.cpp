// Indexes of a trace that is continued answer as those that are built anew.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "model/recorded_work.h"
#include "readers/recording/growing_recording.h"
#include "readers/recording/open_recording.h"
#include "unit/readers/recording/tidy_programs.h"

namespace tidegauge::server {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;
using model::Step;
using readers::recording::GrowingRecording;

bool same(const analysis::Peak& a, const analysis::Peak& b) {
  return a.bytes == b.bytes && a.step == b.step && a.at_start == b.at_start;
}

bool same(const analysis::Span& a, const analysis::Span& b) {
  return a.active_min == b.active_min && a.active_max == b.active_max &&
         a.active_max_step == b.active_max_step && a.reserved_min == b.reserved_min &&
         a.reserved_max == b.reserved_max && a.reserved_max_step == b.reserved_max_step &&
         a.requested_max == b.requested_max && a.requested_max_step == b.requested_max_step &&
         a.allocated_max == b.allocated_max;
}

void expectSameTotals(const DeviceAnalysis& now, const DeviceAnalysis& anew,
                      testing::TidyPrograms& any) {
  const analysis::TotalsIndex &a = now.totals, &b = anew.totals;
  ASSERT_EQ(a.steps(), b.steps());
  EXPECT_EQ(a.initial(), b.initial());
  std::vector<analysis::Totals> all;
  a.forEach(0, a.steps(), [&](Step, const analysis::Totals& totals) { all.push_back(totals); });
  uint64_t wrong = 0;
  b.forEach(0, b.steps(), [&](Step step, const analysis::Totals& totals) {
    wrong += all[step] == totals ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0U);
  for (Step begin = 0; begin < a.steps(); begin += static_cast<Step>(1 + any.pick(500))) {
    Step end = begin + 1 + static_cast<Step>(any.pick(a.steps() - begin));
    ASSERT_TRUE(same(a.span(begin, end), b.span(begin, end))) << begin << " " << end;
    ASSERT_TRUE(a.at(begin) == b.at(begin)) << begin;
    ASSERT_EQ(a.highestActive(begin, end).step, b.highestActive(begin, end).step);
  }
  EXPECT_EQ(a.activeMarks(), b.activeMarks());
  EXPECT_TRUE(same(a.peakActive(), b.peakActive()));
  EXPECT_TRUE(same(a.peakAllocated(), b.peakAllocated()));
  EXPECT_TRUE(same(a.peakRequested(), b.peakRequested()));
  EXPECT_TRUE(same(a.peakReserved(), b.peakReserved()));
}

void expectSame(const AnalysedTrace& now, const AnalysedTrace& anew, testing::TidyPrograms& any) {
  ASSERT_EQ(now.devices.size(), anew.devices.size());
  for (size_t i = 0; i < now.devices.size(); ++i) {
    const DeviceAnalysis &a = *now.devices[i], &b = *anew.devices[i];
    expectSameTotals(a, b, any);
    if (::testing::Test::HasFatalFailure()) return;
    EXPECT_EQ(a.clean_up_step, b.clean_up_step);
    Step stride = static_cast<Step>(1 + a.totals.steps() / 300);
    for (Step step = 0; step < a.totals.steps(); step += stride) {
      ASSERT_EQ(a.live.liveAt(step), b.live.liveAt(step)) << step;
      ASSERT_EQ(a.time.timeOf(step), b.time.timeOf(step)) << step;
      int64_t time = a.time.timeOf(step);
      ASSERT_EQ(a.time.stepAfter(time), b.time.stepAfter(time));
      ASSERT_EQ(a.time.stepAtOrAfter(time), b.time.stepAtOrAfter(time));
    }
    ASSERT_EQ(a.live.liveAtStart(), b.live.liveAtStart());
  }
}

// Two readings of each process take turns.
class Turns {
 public:
  explicit Turns(testing::TidyPrograms& programs)
      : programs_(programs),
        recording_(programs.path(), {.is_followed = true, .takes_back = true}) {}

  void read() {
    auto now = recording_.read();
    auto whole = readers::recording::openRecording(programs_.path(), {});
    ASSERT_TRUE(now.ok() && whole.ok());
    std::vector<std::unique_ptr<AnalysedTrace>> next;
    for (model::Trace& trace : now.value()) {
      AnalysedTrace anew(std::move(whole.value()[next.size()]));
      analysis::BeforeTrace before;
      if (const model::Continuation* it = recording_.continuationOf(trace)) {
        before.continuation = *it;
        before.analysed = std::move(shells_[it->of.get()]);
        continued += before.analysed != nullptr ? 1 : 0;
        resized += it->resized.size();
      }
      next.push_back(std::make_unique<AnalysedTrace>(std::move(trace), nullptr, std::move(before)));
      expectSame(*next.back(), anew, programs_);
      if (::testing::Test::HasFatalFailure()) return;
    }
    shells_.clear();
    for (auto& old : shown_) {
      const model::RecordedWork* work = old->trace.work.get();
      recording_.takeBack(std::move(old->trace));
      shells_[work] = std::move(old);
    }
    shown_ = std::move(next);
  }

  uint64_t continued = 0, resized = 0;

 private:
  testing::TidyPrograms& programs_;
  GrowingRecording recording_;
  std::vector<std::unique_ptr<AnalysedTrace>> shown_;
  std::map<const model::RecordedWork*, std::unique_ptr<AnalysedTrace>> shells_;
};

TEST(ContinuedIndexes, AreAsBuiltAnew) {
  uint64_t continued = 0, resized = 0;
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::TidyPrograms programs(seed);
    Turns turns(programs);
    // A few hundred calls, and once 60,000: then live sets have checkpoints.
    uint64_t most = seed == 1 ? 60000 : 500;
    for (int step = 0; step < (seed == 1 ? 6 : 14); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      programs.add(most / 2 + programs.pick(most));
      turns.read();
      if (HasFatalFailure()) return;
    }
    continued += turns.continued;
    resized += turns.resized;
  }
  EXPECT_GT(continued, 80U);
  EXPECT_GT(resized, 20U);
}

}  // namespace
}  // namespace tidegauge::server
