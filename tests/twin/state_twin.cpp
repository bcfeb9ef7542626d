// The state at a step against slow twins: every live byte is counted again, row by row.
#include <gtest/gtest.h>

#include <set>

#include "support/messy_trace.h"
#include "support/view_trace.h"
#include "view/map/address_map.h"
#include "view/state_at.h"
#include "view/tables/table.h"

namespace tidegauge {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;
using analysis::Step;

// The kind of each byte, from the parts of one bar: every byte of the span belongs to one part.
void checkBar(const model::Trace& trace, const view::State& state, uint32_t bar,
              const std::set<uint32_t>& live) {
  const view::StateSegment& segment = state.segments[bar];
  uint64_t at = 0;
  uint64_t live_bytes = 0;
  uint64_t free_bytes = 0;
  for (const view::StatePart& part : state.parts) {
    if (part.segment != bar) continue;
    EXPECT_EQ(part.offset_bytes, at) << "parts leave no gap";
    at += part.size_bytes;
    live_bytes += part.live_bytes;
    if (part.kind == view::PartKind::kFree) free_bytes += part.size_bytes;
    if (part.kind != view::PartKind::kLive && part.kind != view::PartKind::kPending) continue;
    EXPECT_TRUE(live.contains(part.row));
    EXPECT_EQ(segment.address + part.offset_bytes, trace.allocations.address[part.row]);
    EXPECT_EQ(part.rounding_bytes, trace.allocations.block_bytes[part.row] -
                                       trace.allocations.requested_bytes[part.row]);
  }
  EXPECT_EQ(at, segment.span_bytes);
  EXPECT_EQ(live_bytes, segment.sums.live_bytes);
  EXPECT_EQ(free_bytes, segment.sums.free_bytes);
  EXPECT_EQ(
      segment.sums.pinned_bytes + segment.sums.releasable_bytes + segment.sums.held_in_pools_bytes,
      segment.sums.free_bytes);
  EXPECT_EQ(segment.sums.pinned_bytes > 0, segment.pin_count > 0);
}

TEST(StateTwin, TheStateHoldsEveryLiveByteOnce) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    AnalysedTrace analysed = testing::viewTrace(seed);
    const DeviceAnalysis& device = *analysed.devices[0];
    for (Step step = 0; step < device.totals.steps(); step += 7) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << " step " << step);
      std::set<uint32_t> live;
      for (uint32_t row = 0; row < analysed.trace.allocations.size(); ++row) {
        if (analysis::liveAfter(analysed.trace, row, step)) live.insert(row);
      }
      view::StateQuestion question{.step = step, .sort = view::StateSort::kSize, .limit = 1000};
      view::State state = view::stateAt(analysed, device, question);
      analysis::Totals totals = device.totals.at(step);
      EXPECT_EQ(state.sums.owned_bytes, totals.reserved_bytes);
      EXPECT_EQ(state.sums.live_bytes, totals.active_bytes);
      EXPECT_EQ(state.sums.requested_bytes, totals.requested_bytes);
      EXPECT_EQ(state.sums.live_bytes - state.sums.pending_bytes, totals.allocated_bytes);
      EXPECT_EQ(state.sums.blocks, live.size());
      EXPECT_EQ(state.segments.size(), state.segments_total);
      for (uint32_t bar = 0; bar < state.segments.size(); ++bar) {
        checkBar(analysed.trace, state, bar, live);
      }
      // Merged to a pixel that swallows much, the sums stay.
      question.pixel_bytes = 1 << 20;
      view::State coarse = view::stateAt(analysed, device, question);
      EXPECT_LE(coarse.parts.size(), state.parts.size());
      uint64_t coarse_live = 0;
      uint64_t coarse_blocks = 0;
      for (const view::StatePart& part : coarse.parts) {
        coarse_live += part.live_bytes;
        coarse_blocks += part.blocks;
      }
      EXPECT_EQ(coarse_live, totals.active_bytes);
      EXPECT_EQ(coarse_blocks, live.size());
      // A viewport of the list is that part of the list.
      question.offset = state.segments_total / 2;
      question.limit = 2;
      view::State window = view::stateAt(analysed, device, question);
      for (size_t i = 0; i < window.segments.size(); ++i) {
        EXPECT_EQ(window.segments[i].address, state.segments[question.offset + i].address);
      }
      if (HasFailure()) return;
    }
  }
}

TEST(StateTwin, NoStateOfAContradictoryTraceFails) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    AnalysedTrace analysed(testing::messyTrace({.seed = seed, .wild = seed % 2 == 0}));
    for (const auto& device : analysed.devices) {
      for (Step step : {0U, 20U, 75U, 1000U}) {
        view::State state = view::stateAt(analysed, *device, {.step = step, .pixel_bytes = 512});
        EXPECT_LE(state.parts.size(), 8000U);
      }
      view::AddressMap map(analysed, *device);
      view::MapQuestion question;
      question.x = {.x1 = 150, .columns = 20};
      question.y1_bytes = static_cast<double>(map.axis().totalBytes()) + 1;
      question.rows = 20;
      map.tile(question);
      view::tableOf(analysed, *device, "segments", nullptr);
      view::tableOf(analysed, *device, "stacks", nullptr);
    }
  }
}

}  // namespace
}  // namespace tidegauge
