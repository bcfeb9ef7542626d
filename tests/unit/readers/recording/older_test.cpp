// Recordings that began when the process already held memory.
#include <gtest/gtest.h>

#include "analysis/identities.h"
#include "analysis/trace/analysed_trace.h"
#include "model/recorded_work.h"
#include "readers/recording/open_recording.h"
#include "support/bytes.h"
#include "support/call_stream.h"
#include "support/recording_file.h"

namespace tidegauge::readers::recording {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;
using model::IssueKind;
using model::MemoryKind;
using testing::CallStream;
using testing::RecordingFile;

struct Opened {
  explicit Opened(const CallStream& calls) {
    RecordingFile file;
    file.write(calls.all());
    auto traces = openRecording(file.path(), {});
    EXPECT_TRUE(traces.ok()) << traces.error().what;
    analysed = std::make_unique<AnalysedTrace>(std::move(traces.value().at(0)));
  }
  bool isAtLeast(int32_t ordinal = 0) const { return model::isAtLeast(analysed->trace, ordinal); }
  const DeviceAnalysis& device(int32_t ordinal = 0) const { return *analysed->findDevice(ordinal); }
  uint64_t reservedAt(model::Step step) const { return device().totals.at(step).reserved_bytes; }
  uint64_t count(IssueKind kind) const { return analysed->trace.issues.count(kind); }
  // "", or the violated invariant.
  std::string broken() const {
    std::string text;
    for (const analysis::Identity& it : analysis::identitiesOf(*analysed, device()))
      if (!it.holds) text += it.name + ": " + it.text + "\n";
    return text;
  }
  std::unique_ptr<AnalysedTrace> analysed;
};

TEST(OlderMemory, BlocksInNoKnownSegmentImplyOneOfAtLeastTheirExtent) {
  CallStream calls;
  calls.allocate(MemoryKind::kBlock, 0x10000000, kMiB).device(0).stack(1);
  calls.allocate(MemoryKind::kBlock, 0x10000000 + kMiB, kMiB / 2).device(0).stack(2);
  calls.allocate(MemoryKind::kBlock, 0x50000000, 1000).device(0).stack(2);
  calls.free(MemoryKind::kBlock, 0x10000000);
  Opened opened(calls);
  EXPECT_TRUE(opened.isAtLeast());
  EXPECT_EQ(opened.broken(), "");
  uint64_t all = kMiB + kMiB / 2 + 1024;
  EXPECT_EQ(opened.device().totals.initial().reserved_bytes, all);
  EXPECT_EQ(opened.device().totals.last().reserved_bytes, all);
  EXPECT_EQ(opened.device().totals.last().active_bytes, kMiB / 2 + 1024);
  EXPECT_EQ(opened.count(IssueKind::kOlderThanRecording), 2U);
  for (IssueKind kind : {IssueKind::kOutsideSegments, IssueKind::kGoneWithoutFree,
                         IssueKind::kSegmentContradiction, IssueKind::kFinalLiveDiffers})
    EXPECT_EQ(opened.count(kind), 0U) << model::name(kind);
  const model::Segments& segments = opened.analysed->trace.segments;
  ASSERT_EQ(segments.size(), 2U);
  EXPECT_EQ(segments.provenance[0], model::Provenance::kGhost);
  EXPECT_EQ(segments.kind[0], model::SegmentKind::kUnknown);
}

TEST(OlderMemory, AFreeOfAnUnknownAddressEndsTheIdleMemoryAfterIt) {
  CallStream calls;
  calls.allocate(MemoryKind::kBlock, 0x10100000, kMiB).device(0);      // step 0
  calls.allocate(MemoryKind::kBlock, 0x20000000, 2 * kMiB).device(0);  // step 1
  calls.free(MemoryKind::kBlock, 0x10100000);                          // steps 2, 3
  calls.free(MemoryKind::kDevice, 0x10000000);                         // step 4
  calls.allocate(MemoryKind::kBlock, 0x20000000 + 2 * kMiB, kMiB).device(0);
  Opened opened(calls);
  EXPECT_EQ(opened.broken(), "");
  EXPECT_EQ(opened.reservedAt(3), 4 * kMiB);
  EXPECT_EQ(opened.reservedAt(4), 3 * kMiB);
  EXPECT_EQ(opened.device().totals.last().reserved_bytes, 3 * kMiB);
  EXPECT_EQ(opened.count(IssueKind::kSegmentContradiction), 0U);
  EXPECT_EQ(opened.count(IssueKind::kOlderThanRecording), 3U);  // the free and two segments
}

TEST(OlderMemory, MemoryHandedOutAgainAtThePlaceIsNotOlder) {
  CallStream calls;
  calls.allocate(MemoryKind::kBlock, 0x10000000, kMiB).device(0);
  calls.free(MemoryKind::kBlock, 0x10000000);
  calls.free(MemoryKind::kDevice, 0x10000000);
  calls.allocate(MemoryKind::kDevice, 0x10000000, 20 * kMiB).device(0);
  calls.allocate(MemoryKind::kBlock, 0x10000000, 2 * kMiB).device(0);
  Opened opened(calls);
  EXPECT_EQ(opened.broken(), "");
  EXPECT_EQ(opened.device().totals.initial().reserved_bytes, kMiB);
  EXPECT_EQ(opened.device().totals.last().reserved_bytes, 20 * kMiB);
  EXPECT_EQ(opened.count(IssueKind::kSegmentContradiction), 0U);
  // Its first segment is older, its second one was seen.
  EXPECT_EQ(opened.analysed->trace.segments.provenance[0], model::Provenance::kBeforeRecording);
}

TEST(OlderMemory, AFreeAloneMakesTotalsLowerBounds) {
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x30000000, kMiB).device(0);
  calls.free(MemoryKind::kDevice, 0x10000000);
  Opened opened(calls);
  EXPECT_TRUE(opened.isAtLeast());
  EXPECT_EQ(opened.device().totals.last().reserved_bytes, kMiB);
  EXPECT_EQ(opened.broken(), "");
}

TEST(OlderMemory, OfTheHostSaysNothingOfTheDevice) {
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x30000000, kMiB).device(0);
  calls.allocate(MemoryKind::kPinnedHost, 0x50000000, kMiB);
  calls.free(MemoryKind::kPinnedHost, 0x10000000);
  Opened opened(calls);
  EXPECT_FALSE(opened.isAtLeast());
  EXPECT_TRUE(opened.isAtLeast(-1));
}

TEST(OlderMemory, AWholeRecordingHasNoMark) {
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, 20 * kMiB).device(0);
  calls.allocate(MemoryKind::kBlock, 0x10000000, kMiB).device(0);
  calls.free(MemoryKind::kBlock, 0x10000000);
  calls.free(MemoryKind::kDevice, 0x10000000);
  calls.free(MemoryKind::kDevice, 0x10000000);  // again: that is another matter
  Opened opened(calls);
  EXPECT_FALSE(opened.isAtLeast());
  EXPECT_EQ(opened.count(IssueKind::kOlderThanRecording), 0U);
}

TEST(OlderMemory, AnOlderExpandableSegmentIsKnownByItsUnmapping) {
  CallStream calls;
  calls.allocate(MemoryKind::kBlock, 0x10000000, kMiB).device(0);
  calls.free(MemoryKind::kBlock, 0x10000000);
  calls.unmap(0x10000000, 20 * kMiB).device(0);
  Opened opened(calls);
  EXPECT_TRUE(opened.isAtLeast());
  EXPECT_EQ(opened.broken(), "");
  EXPECT_EQ(opened.device().totals.initial().reserved_bytes, 20 * kMiB);
  EXPECT_EQ(opened.device().totals.last().reserved_bytes, 0U);
}

}  // namespace
}  // namespace tidegauge::readers::recording
