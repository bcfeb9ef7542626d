#include "wss/measure/pinned.h"

#include <gtest/gtest.h>

namespace tidegauge::wss {
namespace {

void addSegment(model::FinalSegments& segments, uint64_t address, uint64_t bytes) {
  segments.address.push_back(address);
  segments.total_bytes.push_back(bytes);
}

TEST(Pinned, IsWhatDevicesOfPinnedHostMemoryHold) {
  model::Trace trace;
  addSegment(trace.final_segments, 0x1000, 0x1000);
  addSegment(trace.final_segments, 0x7f0000000000, 0x200000);
  addSegment(trace.final_segments, UINT64_MAX - 10, 0x1000);  // ends nowhere
  model::Device gpu, pinned;
  gpu.final_segment_end = 1;
  pinned.kind = model::DeviceKind::kPinnedHost;
  pinned.final_segment_begin = 1, pinned.final_segment_end = 3;
  trace.devices = {gpu, pinned};
  std::vector<Mark> marks;
  addPinned(marks, trace);
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_EQ(marks[0].start, 0x7f0000000000U);
  EXPECT_EQ(marks[0].end, 0x7f0000200000U);
  EXPECT_EQ(marks[0].kind, MappingKind::kPinned);
  EXPECT_TRUE(isOfProcess(trace, 4711));  // a snapshot names no process
}

}  // namespace
}  // namespace tidegauge::wss
