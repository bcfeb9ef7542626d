#include "analysis/identities.h"

#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/messy_trace.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using model::Action;
using model::BlockState;
using model::SegmentKind;
using testing::TraceBuilder;

Identity named(const AnalysedTrace& analysed, const std::string& name) {
  for (const Identity& identity : identitiesOf(analysed, *analysed.devices[0])) {
    if (identity.name == name) return identity;
  }
  return {.name = "absent"};
}

TEST(Identities, AllHoldInACompleteRecording) {
  TraceBuilder b;
  b.segmentAlloc(kA, 2 * kMiB).alloc(kA, 700).event(Action::kSnapshot, 0, 1024);
  b.finalSegment(kA, 2 * kMiB, SegmentKind::kSmall);
  b.block(1024, BlockState::kActiveAllocated, 700).block(2 * kMiB - 1024, BlockState::kInactive);
  AnalysedTrace analysed(b.build());
  std::vector<Identity> identities = identitiesOf(analysed, *analysed.devices[0]);
  ASSERT_EQ(identities.size(), 5U);
  for (const Identity& identity : identities) EXPECT_TRUE(identity.holds) << identity.text;
  EXPECT_EQ(
      named(analysed, "drawn").text,
      "Active 1.0 KiB at the peak = allocated in the recording 1.0 KiB + allocated before it 0 + "
      "lost 0");
  EXPECT_EQ(named(analysed, "segments").text, "1 segment equals the sum of its blocks");
  EXPECT_EQ(named(analysed, "checksums").text, "Active bytes agree with 1 of 1 snapshot event");
  EXPECT_EQ(analysed.trace.issues.all().size(), 0U);
}

TEST(Identities, LiveSaysByHowMuchItBreaks) {
  TraceBuilder b;
  b.segmentAlloc(kA, 2 * kMiB).alloc(kA, 700);
  b.finalSegment(kA, 2 * kMiB, SegmentKind::kSmall).block(2 * kMiB, BlockState::kInactive);
  AnalysedTrace analysed(b.build());
  Identity live = named(analysed, "live");
  EXPECT_FALSE(live.holds);
  EXPECT_EQ(live.difference_bytes, 1024U);
  EXPECT_NE(live.text.find("differs by 1.0 KiB"), std::string::npos) << live.text;
  EXPECT_TRUE(named(analysed, "drawn").holds);
}

TEST(Identities, ReservedSaysWhereMoreIsLiveThanReserved) {
  TraceBuilder b;
  b.alloc(kA, 4 * kMiB).free(kA, 4 * kMiB);
  AnalysedTrace analysed(b.build());
  Identity reserved = named(analysed, "reserved");
  EXPECT_FALSE(reserved.holds);
  EXPECT_EQ(reserved.difference_bytes, 4 * kMiB);
  EXPECT_NE(reserved.text.find("at step 0 active memory exceeds reserved memory by 4.0 MiB"),
            std::string::npos)
      << reserved.text;
}

TEST(Identities, SegmentsSayHowManyDiffer) {
  TraceBuilder b;
  b.finalSegment(kA, 2 * kMiB).block(kMiB, BlockState::kInactive);
  b.finalSegment(kA + 4 * kMiB, 2 * kMiB).block(2 * kMiB, BlockState::kInactive);
  AnalysedTrace analysed(b.build());
  Identity segments = named(analysed, "segments");
  EXPECT_FALSE(segments.holds);
  EXPECT_EQ(segments.text,
            "1 of 2 segments differ from the sums of their blocks, by 1.0 MiB in total");
}

TEST(Identities, ChecksumsAreThereOnlyWithSnapshotEvents) {
  TraceBuilder b;
  b.alloc(kA, 1);
  AnalysedTrace without(b.build());
  EXPECT_EQ(named(without, "checksums").name, "absent");
  TraceBuilder wrong;
  wrong.alloc(kA, 700).event(Action::kSnapshot, 0, 512);
  AnalysedTrace analysed(wrong.build());
  EXPECT_FALSE(named(analysed, "checksums").holds);
  EXPECT_EQ(named(analysed, "checksums").difference_bytes, 512U);
}

// For any file: what is drawn is the sum of its parts after every step, and no total wraps below
// zero or exceeds the sum of all allocations.
TEST(Identities, DrawnHoldsAtEveryStepOfMessyTraces) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    AnalysedTrace analysed(testing::messyTrace({.seed = seed}));
    const model::Trace& trace = analysed.trace;
    for (const auto& device : analysed.devices) {
      Totals most;
      const model::Allocations& a = trace.allocations;
      for (uint64_t row = device->device.allocation_begin; row < device->device.allocation_end;
           ++row) {
        most.requested_bytes += a.requested_bytes[row];
        most.active_bytes += a.block_bytes[row];
      }
      for (uint64_t row = device->device.piece_begin; row < device->device.piece_end; ++row) {
        most.reserved_bytes += trace.pieces.size_bytes[row];
      }
      auto check = [&](const Totals& totals) {
        ASSERT_LE(totals.requested_bytes, most.requested_bytes);
        ASSERT_LE(totals.active_bytes, most.active_bytes);
        ASSERT_LE(totals.allocated_bytes, totals.active_bytes);
        ASSERT_LE(totals.reserved_bytes, most.reserved_bytes);
      };
      check(device->totals.initial());
      for (Step step = 0; step < device->totals.steps(); ++step) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed << " step " << step);
        Totals totals = device->totals.at(step);
        check(totals);
        ASSERT_EQ(totals.active_bytes, byProvenance(analysed, *device, step).sum());
        uint64_t reserved = 0;
        for (uint64_t row = device->device.piece_begin; row < device->device.piece_end; ++row) {
          bool owned = trace.pieces.first_step[row] <= step && step < trace.pieces.last_step[row];
          if (owned) reserved += trace.pieces.size_bytes[row];
        }
        ASSERT_EQ(totals.reserved_bytes, reserved);
      }
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace tidegauge::analysis
