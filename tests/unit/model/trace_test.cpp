#include "model/trace.h"

#include <gtest/gtest.h>

#include "support/trace_builder.h"

namespace tidegauge::model {
namespace {

using testing::TraceBuilder;

TEST(Trace, FindsTheDeviceOfARow) {
  TraceBuilder b;
  b.device(-1).alloc(0x1000, 512).device(3).segmentAlloc(0x1000, 512).alloc(0x1000, 512);
  Trace trace = b.build();
  ASSERT_EQ(trace.devices.size(), 3U);  // 0, 3, and pinned host memory last
  EXPECT_EQ(trace.deviceOfAllocation(AllocationId(0)).ordinal, 3);
  EXPECT_EQ(trace.deviceOfAllocation(AllocationId(1)).ordinal, -1);
  EXPECT_EQ(trace.deviceOfSegment(SegmentId(0)).ordinal, 3);
  EXPECT_EQ(trace.findDevice(-1), &trace.devices[2]);
  EXPECT_EQ(trace.findDevice(1), nullptr);
}

TEST(Trace, ActionsHaveTheNamesOfTheFile) {
  Trace trace;
  EXPECT_EQ(trace.actionName(Action::kAlloc), "alloc");
  EXPECT_EQ(trace.actionName(Action::kFreeCompleted), "free_completed");
  EXPECT_EQ(trace.actionName(Action::kUserDefined), "user_defined");
  trace.unknown_actions.push_back(trace.strings.intern("frobnicate"));
  EXPECT_EQ(trace.actionName(Action::kFirstUnknown), "frobnicate");
  EXPECT_EQ(trace.actionName(static_cast<Action>(255)), "unknown");
}

TEST(Trace, EnumeratorsHaveNames) {
  EXPECT_EQ(name(Provenance::kBeforeRecording), "before_recording");
  EXPECT_EQ(name(Provenance::kGhost), "ghost");
  EXPECT_EQ(name(SegmentKind::kUnknown), "unknown");
  EXPECT_EQ(name(BlockState::kActivePendingFree), "active_pending_free");
  EXPECT_EQ(name(FrameKind::kOther), "other");
}

}  // namespace
}  // namespace tidegauge::model
