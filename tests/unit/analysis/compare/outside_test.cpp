#include "analysis/compare/outside.h"

#include <gtest/gtest.h>

#include "analysis/oom/oom.h"
#include "model/recorded_work.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using model::BlockState;
using model::kLiveAtEnd;
using model::MemoryKind;
using testing::TraceBuilder;

constexpr uint64_t kB = kA + 64 * kMiB;
constexpr uint64_t kC = kA + 256 * kMiB;

// Driver memory of one simulated process; times in µs, an end of 0: never.
class Process {
 public:
  uint32_t block(uint64_t address, uint64_t bytes, int64_t begin_us, int64_t end_us = 0,
                 MemoryKind kind = MemoryKind::kDevice, int32_t device = 0) {
    model::DriverBlocks& b = driver.blocks;
    b.address.push_back(address);
    b.size_bytes.push_back(bytes);
    b.begin_ns.push_back(begin_us * 1000 + shift_ns);
    b.end_ns.push_back(end_us == 0 ? kLiveAtEnd : end_us * 1000 + shift_ns);
    b.device.push_back(device);
    b.kind.push_back(kind);
    b.stack.emplace_back();
    return static_cast<uint32_t>(b.size() - 1);
  }
  uint32_t physical(uint64_t bytes, int64_t begin_us, int64_t end_us = 0) {
    return block(0, bytes, begin_us, end_us, MemoryKind::kPhysical);
  }
  void map(uint32_t block, uint64_t address, int64_t begin_us, int64_t end_us = 0) {
    model::DriverMappings& m = driver.mappings;
    m.block.push_back(block);
    m.address.push_back(address);
    m.size_bytes.push_back(driver.blocks.size_bytes[block]);
    m.begin_ns.push_back(begin_us * 1000 + shift_ns);
    m.end_ns.push_back(end_us == 0 ? kLiveAtEnd : end_us * 1000 + shift_ns);
  }
  std::unique_ptr<AnalysedTrace> build(int64_t pid = 41) {
    auto run = std::make_shared<model::RecordedRun>();
    run->processes.process_id.push_back(pid);
    run->processes.pid.push_back(pid);
    run->processes.exit_status.push_back(0);
    for (const char* reason : losses) {
      run->losses.time_ns.push_back(1);
      run->losses.reason.push_back(run->strings.intern(reason));
      run->losses.count.push_back(3);
    }
    if (unwatched_figures != nullptr) {
      run->unwatched.begin_ns.push_back(unwatched_begin_ns);
      run->unwatched.end_ns.push_back(5);
      run->unwatched.process_id.push_back(pid);
      run->unwatched.pid.push_back(pid);
      run->unwatched.library.emplace_back();
      run->unwatched.function.emplace_back();
      run->unwatched.figures.push_back(run->strings.intern(unwatched_figures));
      run->unwatched.reason.push_back(run->strings.intern("it ran before"));
    }
    auto work = std::make_shared<model::RecordedWork>();
    work->run = run;
    work->at_least = at_least;
    work->process_id = pid;
    work->driver = driver;
    work->refused = refused;
    work->answers = answers;
    model::Trace trace;
    trace.source.name = "run.sqlite/pid " + std::to_string(pid) + " python";
    trace.work = work;
    return std::make_unique<AnalysedTrace>(std::move(trace));
  }

  model::DriverMemory driver = [] {
    model::DriverMemory made;
    made.first_call_ns = 1;
    made.last_call_ns = 5'000'000;
    made.is_from_start = true;
    return made;
  }();
  std::vector<const char*> losses;  // reasons; 3 of each
  const char* unwatched_figures = nullptr;
  int64_t unwatched_begin_ns = model::kNotRecorded;
  std::vector<int32_t> at_least;
  model::RecordedRefusals refused;
  model::DriversAnswers answers;
  int64_t shift_ns = 0;  // of this recording's clock
};

Outside joined(const AnalysedTrace& snapshot, Process& process,
               std::optional<int64_t> written_us = {}) {
  static std::unique_ptr<AnalysedTrace> kept;
  kept = process.build();
  std::optional<int64_t> written_ns;
  if (written_us) written_ns = *written_us * 1000;
  auto outside = outsideOf(snapshot, {kept.get()}, std::nullopt, written_ns);
  EXPECT_TRUE(outside.ok()) << outside.error().what;
  return outside.ok() ? std::move(outside).value() : Outside();
}

std::vector<uint64_t> outsideBytes(const Outside& outside) {
  std::vector<uint64_t> bytes;
  for (const OutsideMoment& moment : outside.devices.at(0).moments) {
    bytes.push_back(moment.outside_bytes);
    EXPECT_EQ(moment.driver_bytes, moment.reserved_bytes + moment.outside_bytes);
    EXPECT_EQ(moment.difference_bytes, 0);
  }
  return bytes;
}

// Segments A at 1,000 µs and B at 1,001; B is freed at 1,003, an out of memory at 1,005, end at
// 1,006.
model::Trace twoSegments() {
  TraceBuilder b;
  b.time(1000).segmentAlloc(kA, 20 * kMiB).segmentAlloc(kB, 40 * kMiB);
  b.alloc(kA, 5 * kMiB).segmentFree(kB, 40 * kMiB).alloc(kA + 5 * kMiB, kMiB);
  b.oom(kMiB, 80 * kMiB).free(kA + 5 * kMiB, kMiB);
  b.finalSegment(kA, 20 * kMiB).block(5 * kMiB, BlockState::kActiveAllocated, 5 * kMiB);
  b.block(15 * kMiB, BlockState::kInactive);
  return b.build();
}

TEST(Outside, WhatIsNoSegmentIsOutsideAtEachMoment) {
  AnalysedTrace snapshot(twoSegments());
  Process process;
  process.block(kA, 20 * kMiB, 999);
  process.block(kB, 40 * kMiB, 1000, 1003);
  process.block(kC, 7, 10);                                         // all the time
  process.block(kC + kMiB, 100, 1002, 1004);                        // at none of the moments
  process.block(kC + 2 * kMiB, 1000, 1004, 0, MemoryKind::kArray);  // after the peak
  process.block(kC + 3 * kMiB, 10'000, 1006);
  Outside outside = joined(snapshot, process);
  EXPECT_EQ(outsideBytes(outside), (std::vector<uint64_t>{7, 1007, 11'007}));
  const OutsideOfDevice& device = outside.devices[0];
  EXPECT_EQ(device.moments[0].at, OutsideAt::kPeak);
  EXPECT_EQ(device.moments[0].reserved_bytes, 60 * kMiB);
  EXPECT_EQ(device.moments[1].at, OutsideAt::kOom);
  EXPECT_EQ(device.moments[2].reserved_bytes, 20 * kMiB);
  ASSERT_EQ(device.rows.size(), 2U);  // by stack and kind
  EXPECT_EQ(device.rows[0].bytes, (std::vector<uint64_t>{7, 7, 10'007}));
  EXPECT_EQ(device.rows[1].kind, MemoryKind::kArray);
  EXPECT_EQ(device.rows[1].blocks, (std::vector<uint64_t>{0, 1, 1}));
  EXPECT_EQ(outside.match.matched, 2U);
  EXPECT_EQ(outside.match.pieces, 2U);
  EXPECT_FALSE(outside.isAtLeast());
  EXPECT_EQ(outside.match.largest_difference_ns, 1000);
}

// As everywhere: of equally severe out-of-memory events, the report uses the last.
TEST(Outside, TheOutOfMemoryIsTheOneOfTheReport) {
  TraceBuilder b;
  b.time(1000).segmentAlloc(kA, 20 * kMiB).alloc(kA, 5 * kMiB);
  b.oom(kMiB, 80 * kMiB).segmentAlloc(kB, 40 * kMiB).oom(kMiB, 80 * kMiB);
  AnalysedTrace snapshot(b.build());
  Process process;
  process.block(kA, 20 * kMiB, 999);
  process.block(kB, 40 * kMiB, 1002);
  process.block(kC, 7, 1003);
  Outside outside = joined(snapshot, process);
  std::vector<OomReport> ooms = oomsOf(snapshot, *snapshot.devices[0]);
  ASSERT_EQ(ooms.size(), 2U);
  const OutsideMoment& oom = outside.devices.at(0).moments.at(1);
  ASSERT_EQ(oom.at, OutsideAt::kOom);
  EXPECT_EQ(oom.step, ooms[worstOf(ooms)].step);
  EXPECT_EQ(oom.reserved_bytes, 60 * kMiB);
  EXPECT_EQ(oom.outside_bytes, 7U);
}

TEST(Outside, AnAddressThatOthersGetNextIsNotASegment) {
  AnalysedTrace snapshot(twoSegments());
  Process process;
  process.block(kA, 20 * kMiB, 1000);
  process.block(kB, 40 * kMiB, 900, 950);  // before PyTorch had it
  process.block(kB, 40 * kMiB, 1001, 1003);
  process.block(kB, 40 * kMiB, 1004);  // and after
  EXPECT_EQ(outsideBytes(joined(snapshot, process)),
            (std::vector<uint64_t>{0, 40 * kMiB, 40 * kMiB}));
}

TEST(Outside, PhysicalMemoryIsPyTorchsWhereItIsMappedIntoASegment) {
  TraceBuilder b;
  b.time(1000)
      .map(kA, 40 * kMiB)
      .alloc(kA, kMiB)
      .unmap(kA + 20 * kMiB, 20 * kMiB)
      .alloc(kA + kMiB, 1);
  b.finalSegment(kA, 20 * kMiB, model::SegmentKind::kExpandable);
  b.block(kMiB, BlockState::kActiveAllocated, kMiB).block(19 * kMiB, BlockState::kInactive);
  AnalysedTrace snapshot(b.build());
  Process process;
  process.map(process.physical(20 * kMiB, 990), kA, 998);
  uint32_t cached = process.physical(20 * kMiB, 991);  // its handle stays
  process.map(cached, kA + 20 * kMiB, 999, 1002);
  process.physical(2 * kMiB, 900);                        // no address yet
  process.map(process.physical(6 * kMiB, 901), kC, 902);  // another process's
  Outside outside = joined(snapshot, process);
  EXPECT_EQ(outsideBytes(outside), (std::vector<uint64_t>{8 * kMiB, 28 * kMiB}));
  ASSERT_EQ(outside.devices[0].rows.size(), 2U);
  EXPECT_TRUE(outside.devices[0].rows[0].was_in_segment);
  EXPECT_EQ(outside.devices[0].rows[0].bytes, (std::vector<uint64_t>{0, 20 * kMiB}));
  EXPECT_FALSE(outside.devices[0].rows[1].was_in_segment);
  EXPECT_EQ(outside.match.largest_difference_ns, 2000);  // to the last page of a piece
}

TEST(Outside, SegmentsOlderThanTheHistoryAreFoundWhereTheyLie) {
  TraceBuilder b;
  b.time(1000).alloc(kA, kMiB).alloc(kA + kMiB, kMiB);
  b.finalSegment(kA, 20 * kMiB).block(2 * kMiB, BlockState::kActiveAllocated, 2 * kMiB);
  b.block(18 * kMiB, BlockState::kInactive);
  AnalysedTrace snapshot(b.build());
  Process process;
  process.block(kA, 20 * kMiB, 5, 6);  // an earlier life
  process.block(kA, 20 * kMiB, 10);
  process.block(kB, 3, 11);
  Outside outside = joined(snapshot, process);
  EXPECT_EQ(outsideBytes(outside), (std::vector<uint64_t>{3, 3}));
  EXPECT_FALSE(outside.match.median_difference_ns.has_value());
  EXPECT_FALSE(outside.isAtLeast());
}

// A later part of a recording knows what was live when it began, and since when: segments among it
// belong to PyTorch.
TEST(Outside, SegmentsThatAPartCarriesAreSegments) {
  TraceBuilder b;
  b.time(1000).segmentAlloc(kA, 20 * kMiB).segmentAlloc(kB, 40 * kMiB).segmentFree(kB, 40 * kMiB);
  b.time(9000).oom(kMiB, 80 * kMiB).alloc(kA, kMiB);
  b.finalSegment(kA, 20 * kMiB).block(kMiB, BlockState::kActiveAllocated, kMiB);
  b.block(19 * kMiB, BlockState::kInactive);
  AnalysedTrace snapshot(b.build());
  Process part;
  part.driver.first_call_ns = 5'000'000;  // when kB was freed
  part.driver.is_from_start = false;
  part.block(kA, 20 * kMiB, 999);
  part.block(kC, 7, 10);
  part.block(kB, 40 * kMiB, 6000);  // another's: the snapshot has none of this time
  Outside outside = joined(snapshot, part);
  EXPECT_EQ(outside.match.matched, 1U);
  EXPECT_EQ(outside.match.older, 1U);
  EXPECT_TRUE(outside.mayHaveOlder());
  const OutsideOfDevice& device = outside.devices.at(0);
  ASSERT_EQ(device.moments.size(), 3U);
  for (size_t moment : {1, 2}) {
    EXPECT_EQ(device.moments[moment].outside_bytes, 7 + 40 * kMiB);
    EXPECT_EQ(device.moments[moment].difference_bytes, 0);
  }
}

TEST(Outside, ARecordingThatBeganLateSaysAtLeast) {
  AnalysedTrace snapshot(twoSegments());
  Process process;
  process.driver.first_call_ns = 4'000'000;
  process.block(kC, 7, 4000);
  auto process_trace = process.build();
  auto outside = outsideOf(snapshot, {process_trace.get()}, std::nullopt);
  ASSERT_FALSE(outside.ok());
  EXPECT_NE(outside.error().what.find("2 are older than the recording"), std::string::npos)
      << outside.error().what;

  TraceBuilder b;
  b.time(1000).segmentAlloc(kA, 20 * kMiB).time(9000).segmentAlloc(kB, 40 * kMiB);
  AnalysedTrace longer(b.build());
  Process half;
  half.driver.first_call_ns = 8'000'000;
  half.block(kC, 7, 8000);
  half.block(kB, 40 * kMiB, 9000);
  Outside late = joined(longer, half);
  EXPECT_EQ(late.match.older, 1U);
  EXPECT_EQ(late.match.pieces, 1U);
  EXPECT_EQ(late.devices[0].moments[0].outside_bytes, 7U);
  EXPECT_EQ(late.devices[0].moments[0].difference_bytes, -static_cast<int64_t>(20 * kMiB));
  EXPECT_TRUE(late.isAtLeast());
}

TEST(Outside, SegmentsThatTheRecordingDoesNotKnowAreADifference) {
  TraceBuilder b;
  b.time(1000).segmentAlloc(kA, 20 * kMiB).segmentAlloc(kB, 40 * kMiB).segmentAlloc(kC, 2 * kMiB);
  AnalysedTrace snapshot(b.build());
  Process process;
  process.block(kA, 20 * kMiB, 1000);
  process.block(kB, 40 * kMiB, 1001);
  process.losses = {"memory ring full", "no room for a launch"};
  Outside outside = joined(snapshot, process);
  EXPECT_TRUE(outside.isIncomplete());
  EXPECT_EQ(outside.missing, std::vector<std::string>{"lost: 3 × memory ring full"});
  EXPECT_EQ(outside.match.matched, 2U);
  EXPECT_EQ(outside.match.pieces, 3U);
  EXPECT_EQ(outside.devices[0].moments[0].difference_bytes, -static_cast<int64_t>(2 * kMiB));
  EXPECT_EQ(outside.devices[0].moments[0].outside_bytes, 0U);
}

TEST(Outside, OnlyWhatIsMissingOfMemoryMarksItsFigures) {
  AnalysedTrace snapshot(twoSegments());
  auto marks = [&](auto&& change) {
    Process process;
    process.block(kA, 20 * kMiB, 1000);
    process.block(kB, 40 * kMiB, 1001, 1003);
    change(process);
    Outside outside = joined(snapshot, process);
    return std::pair(outside.isIncomplete(), outside.isAtLeast());
  };
  EXPECT_EQ(marks([](Process&) {}), std::pair(false, false));
  EXPECT_EQ(marks([](Process& p) {
              p.losses = {"no room for a launch", "no stack"};
            }),
            std::pair(false, false));
  EXPECT_EQ(marks([](Process& p) { p.unwatched_figures = "blocks,launches"; }),
            std::pair(false, false));
  EXPECT_EQ(marks([](Process& p) { p.unwatched_figures = "memory"; }), std::pair(false, true));
  EXPECT_EQ(marks([](Process& p) {
              p.unwatched_figures = "memory";
              p.unwatched_begin_ns = 3;  // in its middle: calls of memory that is known, too
            }),
            std::pair(true, true));
  EXPECT_EQ(marks([](Process& p) { p.at_least = {-1}; }), std::pair(false, false));  // of the host
  EXPECT_EQ(marks([](Process& p) { p.at_least = {0}; }), std::pair(false, true));
}

TEST(Outside, TheProcessIsFoundByItsSegments) {
  AnalysedTrace snapshot(twoSegments());
  auto made = [](int64_t shift_ns) {
    Process process;
    process.shift_ns = shift_ns;
    process.block(kA, 20 * kMiB, 1000);
    process.block(kB, 40 * kMiB, 1001, 1003);
    return process;
  };
  auto mine = made(0).build(41);
  auto rank = made(2'000'000).build(57);  // the same places, 2 ms later
  auto twin = made(-7'000).build(58);     // the same at the same time
  Process nothing;
  auto idle = nothing.build(59);
  auto found = outsideOf(snapshot, {rank.get(), idle.get(), mine.get()}, std::nullopt);
  ASSERT_TRUE(found.ok()) << found.error().what;
  EXPECT_EQ(found.value().recording, mine.get());

  auto unsure = outsideOf(snapshot, {mine.get(), twin.get()}, std::nullopt);
  ASSERT_FALSE(unsure.ok());
  EXPECT_NE(unsure.error().what.find("2 processes of the recording fit equally"), std::string::npos)
      << unsure.error().what;
  EXPECT_NE(unsure.error().what.find("pid 58 python"), std::string::npos);
  auto chosen = outsideOf(snapshot, {mine.get(), twin.get()}, 58);
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ(chosen.value().recording, twin.get());
  EXPECT_FALSE(outsideOf(snapshot, {mine.get()}, 77).ok());
  EXPECT_FALSE(outsideOf(snapshot, {idle.get()}, std::nullopt).ok());
}

TEST(Outside, AnotherRunWithTheSamePlacesIsRefused) {
  AnalysedTrace snapshot(twoSegments());
  Process process;
  process.shift_ns = 3'600'000'000'000;
  process.block(kA, 20 * kMiB, 1000);
  process.block(kB, 40 * kMiB, 1001, 1003);
  auto other = process.build();
  auto outside = outsideOf(snapshot, {other.get()}, std::nullopt);
  ASSERT_FALSE(outside.ok());
  EXPECT_NE(outside.error().what.find("2 the place and size, but at another time"),
            std::string::npos)
      << outside.error().what;
}

TEST(Outside, WithoutTimesTheEndIsWhereTheContentMeets) {
  TraceBuilder b;
  b.finalSegment(kA, 20 * kMiB).block(20 * kMiB, BlockState::kActiveAllocated, 20 * kMiB);
  b.finalSegment(kB, 6 * kMiB, model::SegmentKind::kExpandable);
  b.block(6 * kMiB, BlockState::kInactive);
  AnalysedTrace snapshot(b.build());
  Process process;
  process.block(kA, 20 * kMiB, 100, 400);
  process.map(process.physical(2 * kMiB, 150), kB, 150);
  process.map(process.physical(4 * kMiB, 150), kB + 2 * kMiB, 160, 300);
  process.block(kC, 5, 200, 250);
  process.block(kC + kMiB, 11, 260);
  process.block(kC + 2 * kMiB, 100, 301);  // the content is another by then
  Outside outside = joined(snapshot, process);
  EXPECT_TRUE(outside.match.by_content);
  EXPECT_EQ(outside.match.matched, 2U);
  EXPECT_EQ(outsideBytes(outside), std::vector<uint64_t>{11});
  EXPECT_EQ(outside.devices[0].moments[0].at, OutsideAt::kEnd);
  EXPECT_EQ(outside.devices[0].moments[0].time_ns, 299'999);
}

TEST(Outside, MemoryOfNoKnownDeviceIsSaidApart) {
  TraceBuilder b;
  b.time(1000).segmentAlloc(kA, 20 * kMiB);
  b.device(1).time(1001).segmentAlloc(kB, 40 * kMiB);
  AnalysedTrace snapshot(b.build());
  Process process;
  process.block(kA, 20 * kMiB, 1000);
  process.block(kB, 40 * kMiB, 1001, 0, MemoryKind::kDevice, 1);
  process.block(kC, 9, 500, 0, MemoryKind::kDevice, model::kUnknownDevice);
  process.block(kC + kMiB, 3, 500, 0, MemoryKind::kManaged, 1);
  Outside outside = joined(snapshot, process);
  EXPECT_EQ(outside.unknown_device_bytes, 9U);
  ASSERT_EQ(outside.devices.size(), 2U);
  EXPECT_EQ(outside.devices[0].moments.back().outside_bytes, 0U);
  EXPECT_EQ(outside.devices[1].moments.back().outside_bytes, 3U);
}

// 380 MiB were outside when the snapshot was taken, and 500 MiB more later.
TEST(Outside, TheEndIsWhenTheSnapshotWasTaken) {
  AnalysedTrace snapshot(twoSegments());
  Process process;
  process.block(kA, 20 * kMiB, 1000);
  process.block(kB, 40 * kMiB, 1001, 1003);
  process.block(kC, 380 * kMiB, 500);
  process.block(kC + 400 * kMiB, 500 * kMiB, 2000);
  auto endOf = [&](std::optional<int64_t> written_us) {
    return joined(snapshot, process, written_us).devices.at(0).moments.back();
  };
  OutsideMoment unknown = endOf(std::nullopt);
  EXPECT_EQ(unknown.outside_bytes, 380 * kMiB);
  EXPECT_EQ(unknown.least_outside_bytes, 380 * kMiB);
  EXPECT_EQ(unknown.most_outside_bytes, 880 * kMiB);
  OutsideMoment before = endOf(1500);
  EXPECT_EQ(before.outside_bytes, 380 * kMiB);
  EXPECT_EQ(before.most_outside_bytes, 380 * kMiB);
  EXPECT_EQ(before.time_ns, 1'500'000);
  OutsideMoment after = endOf(3000);
  EXPECT_EQ(after.outside_bytes, 880 * kMiB);
  EXPECT_EQ(after.least_outside_bytes, 380 * kMiB);
  EXPECT_EQ(endOf(900).most_outside_bytes, 880 * kMiB);  // a file older than its content: ignored
}

TEST(Outside, TheEndIsBeforeASegmentOfTheSnapshotGoes) {
  AnalysedTrace snapshot(twoSegments());
  Process process;
  process.block(kA, 20 * kMiB, 1000, 1900);
  process.block(kB, 40 * kMiB, 1001, 1003);
  process.block(kC, 5, 1800);
  process.block(kC + kMiB, 500 * kMiB, 2000);
  OutsideMoment end = joined(snapshot, process).devices.at(0).moments.back();
  EXPECT_EQ(end.least_outside_bytes, 0U);
  EXPECT_EQ(end.most_outside_bytes, 5U);
}

// empty_cache() is the last event: PyTorch notes it before it calls the driver.
TEST(Outside, ASegmentThatIsFreedLastDoesNotBoundTheEnd) {
  TraceBuilder b;
  b.time(1000).segmentAlloc(kA, 20 * kMiB).segmentAlloc(kB, 40 * kMiB).alloc(kA, kMiB);
  b.segmentFree(kB, 40 * kMiB);
  b.finalSegment(kA, 20 * kMiB).block(kMiB, BlockState::kActiveAllocated, kMiB);
  b.block(19 * kMiB, BlockState::kInactive);
  AnalysedTrace snapshot(b.build());
  Process process;
  process.block(kA, 20 * kMiB, 1000);
  process.block(kB, 40 * kMiB, 1001, 1009);
  process.block(kC, 500 * kMiB, 2000);
  OutsideMoment end = joined(snapshot, process).devices.at(0).moments.back();
  EXPECT_EQ(end.least_outside_bytes, 0U);
  EXPECT_EQ(end.most_outside_bytes, 500 * kMiB);
}

TEST(Outside, WithoutTimesTheFileSaysBeforeWhichTheSnapshotWasTaken) {
  TraceBuilder b;
  b.finalSegment(kA, 20 * kMiB).block(20 * kMiB, BlockState::kActiveAllocated, 20 * kMiB);
  AnalysedTrace snapshot(b.build());
  Process process;
  process.block(kA, 20 * kMiB, 100);
  process.block(kC, 380 * kMiB, 50);
  process.block(kC + 400 * kMiB, 500 * kMiB, 2000);
  OutsideMoment unknown = joined(snapshot, process).devices.at(0).moments.back();
  EXPECT_EQ(unknown.least_outside_bytes, 380 * kMiB);
  EXPECT_EQ(unknown.most_outside_bytes, 880 * kMiB);
  OutsideMoment known = joined(snapshot, process, 1000).devices.at(0).moments.back();
  EXPECT_EQ(known.outside_bytes, 380 * kMiB);
  EXPECT_EQ(known.most_outside_bytes, 380 * kMiB);
}

TEST(Outside, PinnedHostMemoryIsADeviceOfItsOwn) {
  AnalysedTrace snapshot(twoSegments());
  Process process;
  process.block(kA, 20 * kMiB, 1000);
  process.block(kB, 40 * kMiB, 1001, 1003);
  process.block(kC, 7, 10, 0, MemoryKind::kPinnedHost);
  process.block(kC + kMiB, 9, 1005, 0, MemoryKind::kRegisteredHost, model::kUnknownDevice);
  Outside outside = joined(snapshot, process);
  EXPECT_FALSE(outside.knows_pinned);
  EXPECT_EQ(outside.unknown_device_bytes, 0U);
  EXPECT_EQ(outsideBytes(outside), (std::vector<uint64_t>{0, 0, 0}));
  ASSERT_EQ(outside.devices.size(), 2U);
  const OutsideOfDevice& host = outside.devices[1];
  EXPECT_EQ(host.ordinal, model::kHostOrdinal);
  ASSERT_EQ(host.moments.size(), 3U);
  EXPECT_EQ(host.moments[0].outside_bytes, 7U);
  EXPECT_EQ(host.moments[2].outside_bytes, 16U);
  EXPECT_EQ(host.moments[2].blocks, 2U);
  ASSERT_EQ(host.rows.size(), 2U);
  EXPECT_EQ(host.rows[0].kind, MemoryKind::kRegisteredHost);
}

TEST(Outside, PinnedMemoryOfTheSnapshotIsPyTorchs) {
  TraceBuilder b;
  b.time(1000).segmentAlloc(kA, 20 * kMiB).alloc(kA, kMiB);
  b.device(model::kHostOrdinal).time(1001).segmentAlloc(kC, 4 * kMiB).alloc(kC, 4 * kMiB);
  AnalysedTrace snapshot(b.build());
  Process process;
  process.block(kA, 20 * kMiB, 1000);
  process.block(kC, 4 * kMiB, 1000, 0, MemoryKind::kPinnedHost);
  process.block(kC + 8 * kMiB, 6, 900, 0, MemoryKind::kPinnedHost);
  Outside outside = joined(snapshot, process);
  EXPECT_TRUE(outside.knows_pinned);
  const OutsideMoment& end = outside.devices.back().moments.back();
  EXPECT_EQ(end.reserved_bytes, 4 * kMiB);
  EXPECT_EQ(end.outside_bytes, 6U);
  EXPECT_EQ(end.driver_bytes, 4 * kMiB + 6);
}

TEST(Outside, ARefusalWithoutAFailedCallIsPyTorchsOwn) {
  AnalysedTrace snapshot(twoSegments());  // out of memory at 1,005 µs
  Process process;
  process.block(kA, 20 * kMiB, 1000);
  process.block(kB, 40 * kMiB, 1001, 1003);
  for (int64_t time_ns : {int64_t{500'000}, int64_t{1'004'000}, int64_t{2'000'000}}) {
    process.answers.time_ns.push_back(time_ns);
    process.answers.device.push_back(0);
    process.answers.free_bytes.push_back(static_cast<uint64_t>(time_ns));
    process.answers.total_bytes.push_back(80 * kMiB);
  }
  OutsideMoment own = joined(snapshot, process).devices.at(0).moments.at(1);
  EXPECT_TRUE(own.refused_without_call);
  EXPECT_EQ(own.reported_free_bytes, 1'004'000U);
  Process late = process, early = process, shifted = process;  // not of that moment, or not sure
  late.driver.is_from_start = false;
  early.driver.last_call_ns = 1'004'000;
  shifted.driver.blocks.begin_ns[0] -= 2'000'000;
  for (Process* one : {&late, &early, &shifted})
    EXPECT_FALSE(joined(snapshot, *one).devices.at(0).moments.at(1).refused_without_call);
  process.refused.function.emplace_back();
  process.refused.code.push_back(2);
  process.refused.kind.push_back(MemoryKind::kDevice);
  process.refused.device.push_back(0);
  process.refused.size_bytes.push_back(kMiB);
  process.refused.stack.emplace_back();
  process.refused.first_ns.push_back(1'004'500);
  process.refused.count.push_back(1);
  EXPECT_FALSE(joined(snapshot, process).devices.at(0).moments.at(1).refused_without_call);
}

TEST(Outside, ASnapshotWithoutSegmentsIsRefused) {
  TraceBuilder b;
  b.time(1000).alloc(kA, 512);
  AnalysedTrace snapshot(b.build());
  Process process;
  process.block(kA, 20 * kMiB, 1000);
  auto trace = process.build();
  EXPECT_FALSE(outsideOf(snapshot, {trace.get()}, std::nullopt).ok());
}

}  // namespace
}  // namespace tidegauge::analysis
