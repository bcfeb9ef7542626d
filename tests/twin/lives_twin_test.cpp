// Lives, totals and layouts against a simulated heap that knows the truth, and against a slow walk
// backwards from the final state.
#include <gtest/gtest.h>

#include <map>

#include "analysis/identities.h"
#include "analysis/layout/layout.h"
#include "analysis/trace/analysed_trace.h"
#include "support/simulated_heap.h"

namespace tidegauge {
namespace {

using analysis::AnalysedTrace;
using analysis::Totals;
using model::Action;
using model::BlockState;
using model::Step;

struct Case {
  bool expandable;
  int drop_first;
};

class LivesTwin : public ::testing::TestWithParam<Case> {
 protected:
  testing::SimulatedTrace run(uint64_t seed) {
    return testing::simulate({.seed = seed,
                              .events = 700,
                              .expandable = GetParam().expandable,
                              .drop_first = GetParam().drop_first});
  }
};

// A recording from the start knows every byte after every step.
TEST_P(LivesTwin, TotalsEqualTheTruth) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    testing::SimulatedTrace truth = run(seed);
    AnalysedTrace analysed(std::move(truth.trace));
    const analysis::DeviceAnalysis& device = *analysed.devices[0];
    ASSERT_EQ(device.totals.steps(), truth.truth.size());
    bool complete = GetParam().drop_first == 0;
    Totals initial = device.totals.initial();
    EXPECT_EQ(initial.requested_bytes, truth.initial.requested_bytes) << "seed " << seed;
    EXPECT_EQ(initial.reserved_bytes, truth.initial.reserved_bytes) << "seed " << seed;
    for (Step step = 0; step < device.totals.steps(); ++step) {
      Totals got = device.totals.at(step);
      const Totals& want = truth.truth[step];
      ASSERT_EQ(got.requested_bytes, want.requested_bytes) << "seed " << seed << " step " << step;
      ASSERT_EQ(got.reserved_bytes, want.reserved_bytes) << "seed " << seed << " step " << step;
      if (complete) {
        ASSERT_EQ(got, want) << "seed " << seed << " step " << step;
      } else {
        // Blocks older than the recording are known by their requests: a lower bound.
        ASSERT_LE(got.active_bytes, want.active_bytes) << "seed " << seed << " step " << step;
      }
    }
    EXPECT_EQ(device.totals.last().active_bytes, truth.truth.back().active_bytes);
  }
}

// Undoes the events one by one, from the file's final state, with a plain map; at every step the
// live set must equal that of the lives.
TEST_P(LivesTwin, ForwardsEqualsBackwards) {
  for (uint64_t seed = 50; seed <= 70; ++seed) {
    AnalysedTrace analysed(run(seed).trace);
    const model::Trace& trace = analysed.trace;
    const analysis::DeviceAnalysis& device = *analysed.devices[0];
    std::map<uint64_t, uint64_t> live;  // address → requested
    uint64_t reserved = 0;
    for (size_t b = 0; b < trace.final_blocks.size(); ++b) {
      if (trace.final_blocks.state[b] == BlockState::kInactive) continue;
      live[trace.final_blocks.address[b]] = trace.final_blocks.requested_bytes[b];
    }
    for (uint64_t bytes : trace.final_segments.total_bytes) reserved += bytes;
    for (Step step = device.totals.steps(); step-- > 0;) {
      std::map<uint64_t, uint64_t> got;
      for (uint32_t row : device.live.liveAt(step)) {
        got[trace.allocations.address[row]] = trace.allocations.requested_bytes[row];
      }
      ASSERT_EQ(got, live) << "seed " << seed << " step " << step;
      ASSERT_EQ(device.totals.at(step).reserved_bytes, reserved)
          << "seed " << seed << " step " << step;
      uint64_t address = trace.events.address[step];
      uint64_t size = trace.events.size_bytes[step];
      switch (trace.events.action[step]) {
        case Action::kAlloc:
          live.erase(address);
          break;
        case Action::kFreeCompleted:
          live[address] = size;
          break;
        case Action::kSegmentAlloc:
        case Action::kSegmentMap:
          reserved -= size;
          break;
        case Action::kSegmentFree:
        case Action::kSegmentUnmap:
          reserved += size;
          break;
        default:
          break;
      }
    }
  }
}

// The layout at the end, made from lives, equals the file's own list of blocks.
TEST_P(LivesTwin, LayoutAtTheEndEqualsTheFinalBlocks) {
  for (uint64_t seed = 100; seed <= 130; ++seed) {
    AnalysedTrace analysed(run(seed).trace);
    const model::Trace& trace = analysed.trace;
    const analysis::DeviceAnalysis& device = *analysed.devices[0];
    std::vector<analysis::LayoutBlock> blocks =
        analysis::blocksAt(trace, device.device, device.live, device.totals.steps() - 1);
    ASSERT_EQ(blocks.size(), trace.final_blocks.size()) << "seed " << seed;
    for (size_t b = 0; b < blocks.size(); ++b) {
      EXPECT_EQ(blocks[b].address, trace.final_blocks.address[b]) << "seed " << seed;
      EXPECT_EQ(blocks[b].size_bytes, trace.final_blocks.size_bytes[b]) << "seed " << seed;
      EXPECT_EQ(blocks[b].state, trace.final_blocks.state[b]) << "seed " << seed;
      EXPECT_EQ(blocks[b].allocation, trace.final_blocks.allocation[b]) << "seed " << seed;
    }
    for (const analysis::Identity& identity : analysis::identitiesOf(analysed, device)) {
      EXPECT_TRUE(identity.holds) << "seed " << seed << ": " << identity.text;
    }
    EXPECT_EQ(trace.issues.count(model::IssueKind::kSegmentContradiction), 0U) << "seed " << seed;
    EXPECT_EQ(trace.issues.count(model::IssueKind::kOutsideSegments), 0U) << "seed " << seed;
  }
}

// span() and the peaks against a plain scan.
TEST_P(LivesTwin, SpansEqualAScan) {
  AnalysedTrace analysed(run(7).trace);
  const analysis::TotalsIndex& totals = analysed.devices[0]->totals;
  for (Step begin = 0; begin < totals.steps(); begin += 37) {
    for (Step end = begin + 1; end <= totals.steps(); end += 53) {
      analysis::Span span = totals.span(begin, end);
      uint64_t highest = 0, lowest = UINT64_MAX, reserved = 0, reserved_min = UINT64_MAX;
      uint64_t requested = 0, allocated = 0;
      Step at = 0, reserved_at = 0, requested_at = 0;
      for (Step step = begin; step < end; ++step) {
        Totals t = totals.at(step);
        if (t.active_bytes > highest || step == begin) {
          highest = t.active_bytes;
          at = step;
        }
        lowest = std::min(lowest, t.active_bytes);
        if (t.reserved_bytes > reserved || step == begin) {
          reserved = t.reserved_bytes;
          reserved_at = step;
        }
        reserved_min = std::min(reserved_min, t.reserved_bytes);
        if (t.requested_bytes > requested || step == begin) {
          requested = t.requested_bytes;
          requested_at = step;
        }
        allocated = std::max(allocated, t.allocated_bytes);
      }
      analysis::ActivePeak peak = totals.highestActive(begin, end);
      ASSERT_EQ(peak.bytes, highest);
      ASSERT_EQ(peak.step, at);
      ASSERT_EQ(span.active_max, highest);
      ASSERT_EQ(span.active_max_step, at);
      ASSERT_EQ(span.active_min, lowest);
      ASSERT_EQ(span.reserved_max, reserved);
      ASSERT_EQ(span.reserved_max_step, reserved_at);
      ASSERT_EQ(span.reserved_min, reserved_min);
      ASSERT_EQ(span.requested_max, requested);
      ASSERT_EQ(span.requested_max_step, requested_at);
      ASSERT_EQ(span.allocated_max, allocated);
    }
  }
}

TEST_P(LivesTwin, PeaksCountTheStateBeforeTheFirstEvent) {
  AnalysedTrace analysed(run(7).trace);
  const analysis::TotalsIndex& totals = analysed.devices[0]->totals;
  analysis::Peak active{.bytes = 0, .step = 0};
  analysis::Peak reserved = active;
  for (Step step = 0; step < totals.steps(); ++step) {
    Totals t = totals.at(step);
    if (t.active_bytes > active.bytes) active = {t.active_bytes, step};
    if (t.reserved_bytes > reserved.bytes) reserved = {t.reserved_bytes, step};
  }
  Totals start = totals.initial();
  if (start.active_bytes > active.bytes) active = {start.active_bytes, 0, true};
  if (start.reserved_bytes > reserved.bytes) reserved = {start.reserved_bytes, 0, true};
  EXPECT_EQ(totals.peakActive().bytes, active.bytes);
  EXPECT_EQ(totals.peakActive().place(), active.place());
  EXPECT_EQ(totals.peakReserved().bytes, reserved.bytes);
  EXPECT_EQ(totals.peakReserved().place(), reserved.place());
}

INSTANTIATE_TEST_SUITE_P(Heaps, LivesTwin,
                         ::testing::Values(Case{false, 0}, Case{true, 0}, Case{false, 200},
                                           Case{true, 200}),
                         [](const auto& info) {
                           return std::string(info.param.expandable ? "Expandable" : "Ordinary") +
                                  (info.param.drop_first > 0 ? "Midrun" : "Complete");
                         });

}  // namespace
}  // namespace tidegauge
