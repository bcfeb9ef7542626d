#include "readers/recording/open_recording.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "model/incomplete.h"
#include "model/ledger/ledger.h"
#include "model/recorded_work.h"
#include "support/bytes.h"
#include "support/call_stream.h"
#include "support/recording_file.h"
#include "support/worked_recording.h"

namespace tidegauge::readers::recording {
namespace {

using model::Action;
using model::IssueKind;
using model::MemoryKind;
using model::Trace;
using testing::CallStream;
using testing::RecordingFile;

std::vector<Trace> open(const std::string& path) {
  auto traces = openRecording(path, {});
  EXPECT_TRUE(traces.ok()) << traces.error().what;
  return traces.ok() ? std::move(traces).value() : std::vector<Trace>();
}

Trace openOne(const CallStream& calls) {
  RecordingFile file;
  file.write(calls.all());
  std::vector<Trace> traces = open(file.path());
  EXPECT_EQ(traces.size(), 1U);
  return traces.empty() ? Trace() : std::move(traces[0]);
}

uint64_t liveBytes(const Trace& trace, int32_t ordinal, model::Step step) {
  uint64_t bytes = 0;
  const model::Device* device = trace.findDevice(ordinal);
  if (device == nullptr) return 0;
  const model::Allocations& a = trace.allocations;
  for (uint64_t row = device->allocation_begin; row < device->allocation_end; ++row) {
    if (a.first_step[row] <= step && step < a.last_step[row]) bytes += a.block_bytes[row];
  }
  return bytes;
}

uint64_t reservedBytes(const Trace& trace, int32_t ordinal, model::Step step) {
  uint64_t bytes = 0;
  const model::Device* device = trace.findDevice(ordinal);
  if (device == nullptr) return 0;
  const model::Pieces& p = trace.pieces;
  for (uint64_t row = device->piece_begin; row < device->piece_end; ++row) {
    if (p.first_step[row] <= step && step < p.last_step[row]) bytes += p.size_bytes[row];
  }
  return bytes;
}

std::vector<Action> actionsOf(const Trace& trace, int32_t ordinal) {
  const model::Device* device = trace.findDevice(ordinal);
  if (device == nullptr) return {};
  auto at = [&](uint64_t i) { return trace.events.action.begin() + static_cast<ptrdiff_t>(i); };
  return {at(device->event_begin), at(device->event_end)};
}

std::string frameOf(const Trace& trace, model::StackId stack, size_t place) {
  if (!stack.valid() || place >= trace.stacks.depth(stack)) return "";
  model::FrameId frame = trace.stacks.framesOf(stack)[place];
  return std::string(trace.strings.text(trace.frames.function[frame.index()]));
}

TEST(OpenRecording, ADriverBlockWithoutAFrameworkIsSegmentAndAllocation) {
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, 5000).device(0).stack(7);
  calls.allocate(MemoryKind::kDevice, 0x20000000, 3 * kMiB + 1).device(0).stack(8);
  calls.free(MemoryKind::kDevice, 0x10000000);
  Trace trace = openOne(calls);
  EXPECT_EQ(actionsOf(trace, 0),
            (std::vector<Action>{Action::kSegmentAlloc, Action::kAlloc, Action::kSegmentAlloc,
                                 Action::kAlloc, Action::kFreeRequested, Action::kFreeCompleted,
                                 Action::kSegmentFree}));
  // Exactly the requested size: a driver block is not rounded like a framework's.
  EXPECT_EQ(liveBytes(trace, 0, 1), 5000U);
  EXPECT_EQ(liveBytes(trace, 0, 3), 5000 + 3 * kMiB + 1);
  EXPECT_EQ(reservedBytes(trace, 0, 3), 5000 + 3 * kMiB + 1);
  EXPECT_EQ(liveBytes(trace, 0, 6), 3 * kMiB + 1);
  EXPECT_EQ(reservedBytes(trace, 0, 6), 3 * kMiB + 1);
  EXPECT_EQ(frameOf(trace, trace.allocations.stack[0], 0), "f7");
  EXPECT_EQ(frameOf(trace, trace.allocations.stack[0], 1), "main");
  EXPECT_TRUE(trace.issues.all().empty()) << name(trace.issues.all()[0].kind);
  EXPECT_EQ(trace.source.name, "pid 41 python");
}

TEST(OpenRecording, DriverMemoryIsReadWhereItIsAskedFor) {
  CallStream calls;  // a call ends each 10 ns
  calls.add(model::Verb::kRetain, MemoryKind::kContext).handle(9).device(0);
  calls.allocate(MemoryKind::kDevice, 0x10000000, 5000).device(0).stack(7);
  calls.allocate(MemoryKind::kPinnedHost, 0x50000000, 99).device(0);
  calls.create(0x900, 4 * kMiB).device(0).stack(8);
  calls.map(0x20000000, 4 * kMiB, 0x900);
  calls.free(MemoryKind::kDevice, 0x10000000);
  calls.unmap(0x20000000 + kMiB, kMiB);
  calls.release(0x900);
  calls.unmap(0x20000000, kMiB);
  calls.unmap(0x20000000 + 2 * kMiB, 2 * kMiB);
  RecordingFile file;
  file.write(calls.all());
  auto traces = openRecording(file.path(), {{}, true});
  ASSERT_TRUE(traces.ok());
  const Trace& trace = traces.value().at(0);
  const model::DriverMemory& driver = trace.work->driver;
  auto at = [](int call) { return 1'000'000'000 + 10 * (call + 1); };
  auto gone = [&](int call) { return at(call) - 5; };  // when the call began
  EXPECT_TRUE(driver.is_from_start);
  EXPECT_EQ(driver.first_call_ns, at(0));
  EXPECT_EQ(driver.last_call_ns, gone(9));
  ASSERT_EQ(driver.blocks.size(), 3U);  // pinned host memory, too
  EXPECT_EQ(driver.blocks.address, (std::vector<uint64_t>{0x10000000, 0x50000000, 0}));
  EXPECT_EQ(driver.blocks.size_bytes, (std::vector<uint64_t>{5000, 99, 4 * kMiB}));
  EXPECT_EQ(driver.blocks.begin_ns, (std::vector<int64_t>{at(1), at(2), at(3)}));
  EXPECT_EQ(driver.blocks.end_ns,  // the last: of its last page
            (std::vector<int64_t>{gone(5), model::kLiveAtEnd, gone(9)}));
  EXPECT_EQ(driver.blocks.kind,
            (std::vector<MemoryKind>{MemoryKind::kDevice, MemoryKind::kPinnedHost,
                                     MemoryKind::kPhysical}));
  EXPECT_EQ(frameOf(trace, driver.blocks.stack[0], 0), "f7");
  EXPECT_EQ(frameOf(trace, driver.blocks.stack[2], 0), "f8");
  const model::DriverMappings& mappings = driver.mappings;
  ASSERT_EQ(mappings.size(), 3U);  // cut where a part was unmapped
  EXPECT_EQ(mappings.address,
            (std::vector<uint64_t>{0x20000000 + kMiB, 0x20000000, 0x20000000 + 2 * kMiB}));
  EXPECT_EQ(mappings.size_bytes, (std::vector<uint64_t>{kMiB, kMiB, 2 * kMiB}));
  EXPECT_EQ(mappings.begin_ns, (std::vector<int64_t>{at(4), at(4), at(4)}));
  EXPECT_EQ(mappings.end_ns, (std::vector<int64_t>{gone(6), gone(8), gone(9)}));
  EXPECT_EQ(mappings.block, (std::vector<uint32_t>{2, 2, 2}));
  EXPECT_EQ(open(file.path()).at(0).work->driver.blocks.size(), 0U);
}

TEST(OpenRecording, AnOutOfMemoryHasTheFreeBytesThatTheDriverSaidNext) {
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, 10 * kMiB).device(0);
  calls.allocate(MemoryKind::kDevice, 0, 70 * kMiB).device(0).code(2);  // then a cache is flushed:
  calls.free(MemoryKind::kDevice, 0x10000000);  // no figure is of that moment
  calls.allocate(MemoryKind::kDevice, 0, 71 * kMiB).device(0).code(2);
  calls.answer(9, 80 * kMiB).device(1);  // of another device
  calls.answer(64 * kMiB, 80 * kMiB).device(0).code(201);
  calls.answer(90 * kMiB, 80 * kMiB).device(0);  // more than there is
  calls.answer(60 * kMiB, 80 * kMiB).device(0);
  calls.answer(61 * kMiB, 80 * kMiB).device(0);  // later
  Trace trace = openOne(calls);
  std::vector<uint64_t> free_bytes;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events.action[i] == Action::kOom) free_bytes.push_back(trace.events.address[i]);
  }
  EXPECT_EQ(free_bytes, (std::vector<uint64_t>{model::kUnknownBytes, 60 * kMiB}));
  EXPECT_EQ(trace.findDevice(0)->total_bytes, 80 * kMiB);
  EXPECT_EQ(trace.findDevice(1), nullptr);  // nothing is held there
  EXPECT_TRUE(trace.issues.all().empty()) << name(trace.issues.all()[0].kind);
}

TEST(OpenRecording, TheDriversFigureIsReportedBesideWhatCallsHadAllocatedByThen) {
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, 10 * kMiB).device(0);
  int64_t first_ns = calls.nowNs();
  calls.allocate(MemoryKind::kDevice, 0x20000000, 30 * kMiB).device(1);
  int64_t second_ns = calls.nowNs();
  calls.free(MemoryKind::kDevice, 0x20000000);
  RecordingFile file;
  file.write(calls.all());
  auto tell = [&](int64_t time_ns, int32_t device, std::optional<uint32_t> pid, uint64_t bytes) {
    ASSERT_TRUE(file.writer().addDeviceMemory({time_ns, device, pid, bytes}).ok());
  };
  tell(first_ns, 0, 41, 15 * kMiB);
  tell(second_ns, 1, 41, 33 * kMiB);  // 15 on device 0 still apply
  tell(second_ns, 0, 42, 900 * kMiB);
  tell(second_ns, 0, std::nullopt, 2000 * kMiB);
  tell(second_ns + 5, 0, 41, 0);
  file.finish();
  std::vector<Trace> traces = open(file.path());
  ASSERT_EQ(traces.size(), 1U);
  const std::optional<model::DriversFigure>& figure = traces[0].work->drivers_figure;
  ASSERT_TRUE(figure.has_value());
  EXPECT_EQ(figure->time_ns, second_ns);
  EXPECT_EQ(figure->used_bytes, 48 * kMiB);
  EXPECT_EQ(figure->recorded_bytes, 40 * kMiB);
  EXPECT_FALSE(figure->has_managed);
}

TEST(OpenRecording, ManagedMemoryNeedNotLieOnTheDevice) {
  CallStream calls;
  calls.allocate(MemoryKind::kManaged, 0x10000000, 100 * kMiB).device(0);
  calls.answer(60 * kMiB, 80 * kMiB).device(0);
  EXPECT_EQ(openOne(calls).findDevice(0)->total_bytes, model::kUnknownBytes);
}

TEST(OpenRecording, ASegmentOfTheFrameworkHoldsItsBlocksAlone) {
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, 2 * kMiB).device(0);
  calls.allocate(MemoryKind::kBlock, 0x10000000, 4000).device(0).stream(5).stack(1);
  calls.allocate(MemoryKind::kBlock, 0x10000000 + 4096, 700).device(0).stream(5);
  calls.free(MemoryKind::kBlock, 0x10000000);
  calls.allocate(MemoryKind::kDevice, 0x20000000, 20 * kMiB).device(0);
  calls.allocate(MemoryKind::kBlock, 0x20000000, 19 * kMiB + kMiB / 2).device(0);
  Trace trace = openOne(calls);
  EXPECT_EQ(actionsOf(trace, 0),
            (std::vector<Action>{Action::kSegmentAlloc, Action::kAlloc, Action::kAlloc,
                                 Action::kFreeRequested, Action::kFreeCompleted,
                                 Action::kSegmentAlloc, Action::kAlloc}));
  EXPECT_EQ(liveBytes(trace, 0, 2), 4096 + 1024);
  EXPECT_EQ(liveBytes(trace, 0, 4), 1024U);
  // A remainder too small to split off belongs to the block, also in the final state.
  EXPECT_EQ(liveBytes(trace, 0, 6), 1024 + 20 * kMiB);
  EXPECT_EQ(reservedBytes(trace, 0, 6), 22 * kMiB);
  ASSERT_EQ(trace.final_segments.size(), 2U);
  EXPECT_EQ(trace.final_segments.kind[0], model::SegmentKind::kSmall);
  EXPECT_EQ(trace.final_blocks.size(), 4U);  // free, 1,024, free; 20 MiB
  EXPECT_EQ(trace.streams[trace.segments.stream[0].index()].raw, 5U);
  EXPECT_TRUE(trace.issues.all().empty()) << name(trace.issues.all()[0].kind);
}

TEST(OpenRecording, ExpandableSegmentsAreMappedPiecesWithBlocksAcrossThem) {
  CallStream calls;
  uint64_t base = 0x400000000;
  calls.allocate(MemoryKind::kAddressRange, base, 1024 * kMiB).device(1);
  for (uint64_t i = 0; i < 3; ++i) {
    calls.create(5 + i, 20 * kMiB).device(1);
    calls.map(base + i * 20 * kMiB, 20 * kMiB, 5 + i);
  }
  calls.allocate(MemoryKind::kBlock, base + 10 * kMiB, 30 * kMiB).device(1);
  calls.free(MemoryKind::kBlock, base + 10 * kMiB);
  calls.unmap(base + 20 * kMiB, 20 * kMiB);
  calls.release(6);
  Trace trace = openOne(calls);
  EXPECT_EQ(actionsOf(trace, 1),
            (std::vector<Action>{Action::kSegmentMap, Action::kSegmentMap, Action::kSegmentMap,
                                 Action::kAlloc, Action::kFreeRequested, Action::kFreeCompleted,
                                 Action::kSegmentUnmap}));
  EXPECT_EQ(reservedBytes(trace, 1, 2), 60 * kMiB);
  EXPECT_EQ(reservedBytes(trace, 1, 6), 40 * kMiB);
  EXPECT_EQ(liveBytes(trace, 1, 3), 30 * kMiB);
  ASSERT_EQ(trace.final_segments.size(), 2U);
  EXPECT_EQ(trace.final_segments.kind[0], model::SegmentKind::kExpandable);
  EXPECT_TRUE(trace.issues.all().empty()) << name(trace.issues.all()[0].kind);
}

// In no state between the events of one call is memory of the driver owned and not used.
TEST(OpenRecording, MemoryOfTheDriverIsNeverAReserve) {
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, 2 * kMiB).device(0);
  calls.allocate(MemoryKind::kPool, 0x20000000, 20 * kMiB).device(0);
  calls.create(5, 6 * kMiB).device(0);
  calls.map(0x30000000, 6 * kMiB, 5);
  calls.create(6, 2 * kMiB).device(0);
  calls.map(0x30000000 + 6 * kMiB, 2 * kMiB, 6);  // joins the other: one segment, two blocks
  calls.allocate(MemoryKind::kPinnedHost, 0x40000000, 3 * kMiB);
  calls.free(MemoryKind::kDevice, 0x10000000);
  calls.unmap(0x30000000, 6 * kMiB);
  calls.free(MemoryKind::kPool, 0x20000000);
  calls.unmap(0x30000000 + 6 * kMiB, 2 * kMiB);
  calls.free(MemoryKind::kPinnedHost, 0x40000000);
  Trace trace = openOne(calls);
  ASSERT_EQ(trace.devices.size(), 2U);
  for (const model::Device& device : trace.devices) {
    EXPECT_FALSE(device.has_allocator);
    uint64_t most = 0;
    for (model::Step step = 0; step < device.steps(); ++step) {
      uint64_t live = liveBytes(trace, device.ordinal, step);
      EXPECT_EQ(reservedBytes(trace, device.ordinal, step), live) << step;
      most = std::max(most, live);
    }
    EXPECT_EQ(most, device.ordinal == 0 ? 30 * kMiB : 3 * kMiB);
    EXPECT_EQ(liveBytes(trace, device.ordinal, device.steps() - 1), 0U);
  }
}

// An allocator keeps its segment: that is a reserve, whatever its first block covers.
TEST(OpenRecording, WhatAnAllocatorKeepsIsAReserve) {
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, 20 * kMiB).device(0);
  calls.allocate(MemoryKind::kBlock, 0x10000000, 20 * kMiB).device(0);
  calls.free(MemoryKind::kBlock, 0x10000000);
  calls.free(MemoryKind::kDevice, 0x10000000);
  Trace trace = openOne(calls);
  EXPECT_TRUE(trace.devices[0].has_allocator);
  std::vector<uint64_t> reserve;
  for (model::Step step = 0; step < trace.devices[0].steps(); ++step) {
    reserve.push_back(reservedBytes(trace, 0, step) - liveBytes(trace, 0, step));
  }
  EXPECT_EQ(reserve, (std::vector<uint64_t>{20 * kMiB, 0, 0, 20 * kMiB, 0}));
}

TEST(OpenRecording, APartialUnmapOfMemoryWithoutAFrameworkKeepsTheRest) {
  CallStream calls;
  calls.create(5, 6 * kMiB).device(0);
  calls.map(0x10000000, 6 * kMiB, 5);
  calls.unmap(0x10000000 + 2 * kMiB, 2 * kMiB);
  Trace trace = openOne(calls);
  model::Step last = trace.devices[0].steps() - 1;
  EXPECT_EQ(liveBytes(trace, 0, last), 4 * kMiB);
  EXPECT_EQ(reservedBytes(trace, 0, last), 4 * kMiB);
  EXPECT_TRUE(trace.issues.all().empty()) << name(trace.issues.all()[0].kind);
}

TEST(OpenRecording, HostMemoryIsADeviceOfItsOwnAndComesLast) {
  CallStream calls;
  calls.allocate(MemoryKind::kPinnedHost, 0x10000000, 3 * kMiB).device(0);
  calls.allocate(MemoryKind::kDevice, 0x20000000, kMiB).device(1);
  calls.allocate(MemoryKind::kRegisteredHost, 0x30000000, 5 * kMiB).device(0);
  Trace trace = openOne(calls);
  ASSERT_EQ(trace.devices.size(), 2U);
  EXPECT_EQ(trace.devices[0].ordinal, 1);
  EXPECT_EQ(trace.devices[1].ordinal, -1);
  EXPECT_EQ(trace.devices[1].kind, model::DeviceKind::kPinnedHost);
  EXPECT_EQ(liveBytes(trace, -1, trace.devices[1].steps() - 1), 8 * kMiB);
}

TEST(OpenRecording, AnOutOfMemoryIsAnEventWithItsRequest) {
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0, 7 * kMiB).device(0).code(2).stack(9);
  calls.allocate(MemoryKind::kDevice, 0, 7 * kMiB).device(0).code(2).around(1);
  calls.allocate(MemoryKind::kDevice, 0, 7 * kMiB).device(0).code(1);  // no memory error
  Trace trace = openOne(calls);
  ASSERT_EQ(actionsOf(trace, 0), std::vector<Action>{Action::kOom});
  EXPECT_EQ(trace.events.size_bytes[0], 7 * kMiB);
  EXPECT_EQ(trace.events.address[0], model::kUnknownBytes);
  EXPECT_EQ(frameOf(trace, trace.events.stack[0], 0), "f9");
}

// Like PyTorch: it releases its cache, and asks again.
TEST(OpenRecording, ARefusalIsAnOutOfMemoryOnlyIfAskingAgainDidNotHelp) {
  CallStream calls;
  auto refuse = [&](uint64_t bytes) {
    calls.allocate(MemoryKind::kDevice, 0, bytes).device(0).code(2);
  };
  calls.allocate(MemoryKind::kDevice, 0x10000000, 4 * kMiB).device(0);
  refuse(8 * kMiB);
  calls.free(MemoryKind::kDevice, 0x10000000);
  calls.allocate(MemoryKind::kDevice, 0x20000000, 8 * kMiB).device(0);
  for (int i = 0; i < 3; ++i) refuse(16 * kMiB);
  refuse(32 * kMiB);
  calls.allocate(MemoryKind::kDevice, 0x40000000, kMiB).device(0);
  Trace trace = openOne(calls);
  std::vector<uint64_t> refused;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events.action[i] == Action::kOom) refused.push_back(trace.events.size_bytes[i]);
  }
  EXPECT_EQ(refused, (std::vector<uint64_t>{16 * kMiB, 32 * kMiB}));
  uint64_t told = 0;  // all of them
  for (uint64_t count : trace.work->refused.count) told += count;
  EXPECT_EQ(told, 5U);
  // The remaining one of three contains how many it stands for, and since when.
  const model::RecordedRefusalRows& rows = trace.work->refused_in_row;
  ASSERT_EQ(rows.event.size(), 1U);
  uint64_t event = rows.event[0];
  EXPECT_EQ(trace.events.action[event], Action::kOom);
  EXPECT_EQ(trace.events.size_bytes[event], 16 * kMiB);
  EXPECT_EQ(rows.count[0], 3U);
  EXPECT_EQ(rows.first_ns[0], calls.all()[4].end_ns);
}

// A program catches three of PyTorch's errors one by one, each within milliseconds. Before each,
// PyTorch asks twice, releases its cache in between, and then queries the free memory.
TEST(OpenRecording, ErrorsThatAreCaughtOneByOneAreSeveral) {
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, 4 * kMiB).device(0);
  for (int i = 0; i < 3; ++i) {
    calls.allocate(MemoryKind::kDevice, 0, 16 * kMiB).device(0).code(2);
    if (i == 0) calls.free(MemoryKind::kDevice, 0x10000000);
    calls.allocate(MemoryKind::kDevice, 0, 16 * kMiB).device(0).code(2);
    calls.answer(2 * kMiB, 32 * kMiB).device(0);
  }
  Trace trace = openOne(calls);
  std::vector<uint64_t> free_bytes;
  for (size_t i = 0; i < trace.events.size(); ++i)
    if (trace.events.action[i] == Action::kOom) free_bytes.push_back(trace.events.address[i]);
  EXPECT_EQ(free_bytes, std::vector<uint64_t>(3, 2 * kMiB));
  EXPECT_EQ(trace.work->refused_in_row.count, std::vector<uint64_t>(3, 2));
}

TEST(OpenRecording, EveryProcessIsATraceAndItsEndIsNotDrawn) {
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, kMiB).device(0);
  calls.allocate(MemoryKind::kDevice, 0x10000000, 2 * kMiB).device(0).process(1);
  file.add(calls.all());
  EXPECT_TRUE(file.writer().endProcess(0, calls.nowNs(), 9, store::EndReason::kExit).ok());
  file.finish();
  std::vector<Trace> traces = open(file.path());
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(liveBytes(traces[0], 0, traces[0].devices[0].steps() - 1), kMiB);
  EXPECT_EQ(liveBytes(traces[1], 0, traces[1].devices[0].steps() - 1), 2 * kMiB);
  EXPECT_EQ(traces[1].source.name, "pid 42 python");
}

TEST(OpenRecording, LossesMakeEveryTraceIncomplete) {
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, kMiB).device(0);
  file.add(calls.all());
  EXPECT_TRUE(file.writer().addLoss(1, "ring full", 3).ok());
  EXPECT_TRUE(file.writer().addLoss(2, "ring full", 4).ok());
  EXPECT_TRUE(file.writer().addLoss(2, "nothing", 0).ok());
  file.finish();
  std::vector<Trace> traces = open(file.path());
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_EQ(traces[0].issues.count(IssueKind::kIncompleteRecording), 7U);
}

TEST(OpenRecording, WhatWasNotWatchedMarksTheProcessThatHasItOnly) {
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, kMiB).device(0);
  calls.allocate(MemoryKind::kDevice, 0x20000000, kMiB).device(0).process(1);
  file.write(calls.all());
  model::Unwatched locked;
  locked.pid = 42;
  locked.library = "/opt/libcuda.so.1";
  locked.function = "cuMemAlloc_v2";
  locked.figures = {model::Figures::kMemory};
  locked.reason = "cannot be probed";
  EXPECT_TRUE(file.writer().addUnwatched(locked, 1).ok());
  EXPECT_TRUE(
      file.writer().addUnwatched(locked, std::nullopt).ok());  // of a process that was never seen
  file.finish();
  std::vector<Trace> traces = open(file.path());
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_FALSE(model::incompleteOf(*traces[0].work).any());
  EXPECT_EQ(traces[0].issues.count(IssueKind::kIncompleteRecording), 0U);
  model::Incomplete second = model::incompleteOf(*traces[1].work);
  EXPECT_EQ(second.figures(), model::FigureSet({model::Figures::kMemory}));
  ASSERT_EQ(second.missing().size(), 1U);
  EXPECT_EQ(second.missing()[0].words,
            "not watched: cuMemAlloc_v2 of libcuda.so.1: cannot be probed");
  EXPECT_EQ(traces[1].issues.count(IssueKind::kIncompleteRecording), 1U);
}

TEST(OpenRecording, AFileWithoutTheTableOfTheUnwatchedIsWhole) {
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, kMiB).device(0);
  file.write(calls.all());
  file.finish();
  file.change("DROP TABLE unwatched");
  std::vector<Trace> traces = open(file.path());
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_FALSE(model::incompleteOf(*traces[0].work).any());
}

TEST(OpenRecording, WhatIsOlderUnknownOrWithoutAddressIsNamed) {
  CallStream calls;
  calls.free(MemoryKind::kDevice, 0x77000000);
  calls.create(5, 6 * kMiB).device(0);
  calls.allocate(MemoryKind::kDevice, 0x10000000, kMiB);  // on an unknown device
  calls.allocate(MemoryKind::kGraph, 0x90000000, kMiB).device(0);
  calls.unmap(0x50000000, 2 * kMiB).device(0);  // mapped before the recording
  Trace trace = openOne(calls);
  EXPECT_EQ(trace.issues.count(IssueKind::kOlderThanRecording), 2U);
  EXPECT_EQ(trace.issues.count(IssueKind::kDeviceUnknown), 1U);
  EXPECT_EQ(trace.issues.count(IssueKind::kNoAddress), 1U);
  EXPECT_EQ(trace.issues.count(IssueKind::kPromisedMemory), 1U);
  EXPECT_EQ(reservedBytes(trace, 0, 0), 2 * kMiB);  // the older ones are drawn from the start
  EXPECT_EQ(reservedBytes(trace, 0, 1), 3 * kMiB);
}

TEST(OpenRecording, ADeviceThatNoCallNamesIsNotClaimed) {
  CallStream both, none, whole, freed;
  both.allocate(MemoryKind::kDevice, 0x10000000, kMiB).device(2);
  both.allocate(MemoryKind::kDevice, 0x20000000,
                kMiB);  // by a thread that chose before it was watched
  none.allocate(MemoryKind::kDevice, 0x20000000, kMiB);
  none.free(MemoryKind::kDevice, 0x20000000);
  whole.allocate(MemoryKind::kDevice, 0x10000000, kMiB).device(1);
  whole.allocate(MemoryKind::kPinnedHost, 0x50000000, kMiB);
  // older memory was allocated and freed
  freed.allocate(MemoryKind::kBlock, 0x10000000, kMiB).device(1);
  freed.free(MemoryKind::kDevice, 0x70000000);
  Trace trace = openOne(both);
  EXPECT_EQ(trace.findDevice(2)->known, model::Known::kInPart);
  trace = openOne(none);
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.devices[0].known, model::Known::kNothing);
  trace = openOne(whole);
  EXPECT_EQ(trace.findDevice(1)->known, model::Known::kAll);
  EXPECT_EQ(trace.findDevice(-1)->known, model::Known::kAll);
  trace = openOne(freed);
  EXPECT_EQ(trace.findDevice(1)->known, model::Known::kAll);
}

TEST(OpenRecording, KernelsWithoutANameAreDistinguished) {
  RecordingFile file;
  testing::addWork(file);
  file.finish();
  std::vector<Trace> traces = open(file.path());
  const model::RecordedWork& work = *traces.at(0).work;
  ASSERT_EQ(work.kernels.size(), 2U);
  EXPECT_EQ(work.run->strings.text(work.kernels.name[0]), "sgemm");
  EXPECT_EQ(work.run->strings.text(work.kernels.name[1]), "kernel at 0xdef (no name)");
}

TEST(OpenRecording, SinceWhenAProcessWasWatched) {
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, kMiB).device(0).process(0);
  calls.allocate(MemoryKind::kDevice, 0x10000000, kMiB).device(0).process(1);
  file.add(calls.all());
  model::Unwatched before;
  before.end_ns = 3;
  before.pid = 42;
  before.reason = "it ran before it was watched";
  EXPECT_TRUE(file.writer().addUnwatched(before, 1).ok());
  before.library = "/usr/lib/libcuda.so.1";  // of a library alone: it was watched
  before.end_ns = 7;
  EXPECT_TRUE(file.writer().addUnwatched(before, 1).ok());
  EXPECT_TRUE(file.writer().setMeta("began_ns", "2").ok());
  EXPECT_TRUE(file.writer().endProcess(0, 50, 0, store::EndReason::kExit).ok());
  file.finish();
  std::vector<Trace> traces = open(file.path());
  const model::RecordedRun& run = *traces.at(0).work->run;
  EXPECT_EQ(run.began_ns, 2);
  const model::RecordedProcesses& p = run.processes;
  ASSERT_EQ(p.size(), 2U);
  EXPECT_EQ(p.watched_from_ns[0], p.began_ns[0]);
  EXPECT_EQ(p.watched_to_ns[0], 50);
  EXPECT_EQ(p.ran_before[0], 0);
  EXPECT_EQ(p.watched_from_ns[1], 3);
  EXPECT_EQ(p.watched_to_ns[1], run.ended_ns);
  EXPECT_EQ(p.ran_before[1], 1);
}

TEST(OpenRecording, CallsAreTakenInOrderOfTheirEndWhateverTheFilesOrder) {
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, kMiB).device(0);
  calls.free(MemoryKind::kDevice, 0x10000000);
  calls.allocate(MemoryKind::kDevice, 0x10000000, 2 * kMiB).device(0);
  std::vector<model::MemoryCall> stream = calls.all();
  std::swap(stream[1], stream[2]);
  RecordingFile file;
  file.write(stream);
  std::vector<Trace> traces = open(file.path());
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_TRUE(traces[0].issues.all().empty());
  EXPECT_EQ(liveBytes(traces[0], 0, traces[0].devices[0].steps() - 1), 2 * kMiB);
}

// Two threads: the second has the address before the first one's free returns.
TEST(OpenRecording, FreedMemoryIsGoneWhenTheCallBegins) {
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000, 3 * kMiB).device(0).thread(1);
  calls.allocate(MemoryKind::kDevice, 0x10000, 2 * kMiB).device(0).thread(2);
  calls.free(MemoryKind::kDevice, 0x10000).thread(1).began(15);
  Trace trace = openOne(calls);
  EXPECT_TRUE(trace.issues.all().empty());
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(liveBytes(trace, 0, trace.devices[0].steps() - 1), 2 * kMiB);
}

TEST(OpenRecording, ReadsWhatIsBeingWrittenAndWhatAKilledWriterLeft) {
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, kMiB).device(0);
  file.write(calls.all());
  EXPECT_TRUE(isSqliteFile(file.path()));
  EXPECT_EQ(liveBytes(open(file.path())[0], 0, 1), kMiB);
  // The state after a kill: the file with its journal, its index lost or stale.
  std::string left = file.folder() + "/left.tgr";
  std::filesystem::copy_file(file.path(), left);
  std::filesystem::copy_file(file.path() + "-wal", left + "-wal");
  EXPECT_EQ(liveBytes(open(left)[0], 0, 1), kMiB);
}

TEST(OpenRecording, ReadsAKilledWritersFileFromReadOnlyMedia) {
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, kMiB).device(0);
  file.write(calls.all());
  std::string folder = file.folder() + "/media";
  std::filesystem::create_directory(folder);
  if (mount("none", folder.c_str(), "tmpfs", 0, "") != 0) {
    GTEST_SKIP() << "mounting a file system needs root";
  }
  std::filesystem::copy_file(file.path(), folder + "/left.tgr");
  std::filesystem::copy_file(file.path() + "-wal", folder + "/left.tgr-wal");
  EXPECT_EQ(mount("none", folder.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, ""), 0);
  auto traces = openRecording(folder + "/left.tgr", {});
  umount(folder.c_str());
  ASSERT_TRUE(traces.ok()) << traces.error().what;
  EXPECT_EQ(liveBytes(traces.value()[0], 0, 1), kMiB);
}

// ---- hostile files ------------------------------------------------------------------------------

std::string errorOf(const std::string& path) {
  auto traces = openRecording(path, {});
  return traces.ok() ? "" : traces.error().what;
}

CallStream aFew() {
  CallStream calls;
  for (uint64_t i = 0; i < 5; ++i) {
    calls.allocate(MemoryKind::kDevice, (i + 1) * kMiB, 4096).device(0).stack(1);
  }
  return calls;
}

TEST(HostileRecording, OtherDatabasesAndVersionsAreRefused) {
  RecordingFile file;
  file.write(aFew().all());
  file.finish();
  file.change("PRAGMA user_version = 2");
  EXPECT_NE(errorOf(file.path()).find("version 2"), std::string::npos);
  file.change("PRAGMA user_version = 1; PRAGMA application_id = 5");
  EXPECT_NE(errorOf(file.path()).find("is not a recording of Tidegauge"), std::string::npos);
  std::ofstream(file.folder() + "/text") << "hello";
  EXPECT_FALSE(isSqliteFile(file.folder() + "/text"));
  EXPECT_FALSE(isSqliteFile(file.folder()));
  EXPECT_FALSE(isSqliteFile(file.folder() + "/none"));
}

TEST(HostileRecording, OnlyPlainTablesAreRead) {
  for (const char* sql : {"DROP TABLE calls",
                          "ALTER TABLE calls RENAME TO c; CREATE VIEW calls AS SELECT * FROM c"}) {
    RecordingFile file;
    file.write(aFew().all());
    file.finish();
    file.change("DROP VIEW call_log; DROP VIEW failed_calls; DROP VIEW driver_blocks");
    file.change(sql);
    EXPECT_NE(errorOf(file.path()).find("plain"), std::string::npos) << sql << errorOf(file.path());
  }
}

TEST(HostileRecording, ATableThatIsNotPlainCostsOnlyItself) {
  using model::Figures;
  struct {
    const char* table;
    const char* sql;
    model::FigureSet touched;
  } const kCases[] = {
      {"losses",
       "ALTER TABLE losses RENAME TO l; CREATE VIRTUAL TABLE losses USING fts5(reason, count)",
       model::FigureSet::all()},
      {"losses",
       "ALTER TABLE losses DROP COLUMN count; "
       "ALTER TABLE losses ADD COLUMN count INTEGER AS (length(reason))",
       model::FigureSet::all()},
      {"copies", "DROP TABLE copies", {Figures::kCopies}},
      {"launches", "DROP TABLE launches", {Figures::kLaunches}},
      {"kernels", "DROP TABLE kernels", {Figures::kKernelNames}},
      {"frames", "DROP TABLE frames", {Figures::kCallSites}},
      {"stack_frames", "DROP TABLE stack_frames", {Figures::kCallSites}},
      {"modules", "DROP TABLE modules", {Figures::kCallSites}},
      {"unwatched", "ALTER TABLE unwatched DROP COLUMN reason", model::FigureSet::all()},
  };
  for (const auto& it : kCases) {
    RecordingFile file;
    file.write(aFew().all());
    file.finish();
    file.change(
        "DROP VIEW call_log; DROP VIEW failed_calls; DROP VIEW stack_lines; DROP VIEW "
        "driver_blocks; DROP VIEW launch_counts; DROP VIEW copy_sums");
    file.change(it.sql);
    std::vector<Trace> traces = open(file.path());
    ASSERT_EQ(traces.size(), 1U) << it.sql;
    EXPECT_EQ(traces[0].events.size(), 10U) << it.sql;
    model::Incomplete incomplete = model::incompleteOf(*traces[0].work);
    EXPECT_EQ(incomplete.figures(), it.touched) << it.sql << ": " << listOf(incomplete.figures());
    bool named = false;
    for (const model::Issue& issue : traces[0].issues.all())
      named |= issue.kind == IssueKind::kIncompleteRecording &&
               issue.detail.find(std::string("table ") + it.table) != std::string::npos;
    EXPECT_TRUE(named) << it.sql;
  }
}

// Bytes of its pages overwritten, as a disk does it.
TEST(HostileRecording, ATableThatIsDamagedCostsOnlyItself) {
  for (const char* table : {"copies", "launches", "kernels", "losses", "frames", "unwatched"}) {
    RecordingFile file;
    testing::addWork(file);
    file.finish();
    int page = 0;
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file.path().c_str(), &db), SQLITE_OK);
    std::string sql =
        std::string("SELECT rootpage FROM sqlite_schema WHERE name = '") + table + "'";
    sqlite3_exec(
        db, sql.c_str(),
        [](void* out, int, char** values, char**) {
          *static_cast<int*>(out) = std::atoi(values[0]);
          return 0;
        },
        &page, nullptr);
    sqlite3_close(db);
    ASSERT_GT(page, 1);
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(page - 1) * 16384);
    bytes << std::string(16384, '\x5a');
    bytes.close();
    std::vector<Trace> traces = open(file.path());
    ASSERT_FALSE(traces.empty()) << table;
    model::Incomplete incomplete = model::incompleteOf(*traces[0].work);
    bool told = false;
    for (const model::Missing& it : incomplete.missing())
      told |= it.words.starts_with(std::string("not read: table ") + table) &&
              it.figures == model::figuresOfTable(table);
    EXPECT_TRUE(told) << table;
  }
}

TEST(HostileRecording, RowsThatCannotBeAreCountedAndPassedOver) {
  RecordingFile file;
  file.write(aFew().all());
  file.finish();
  // A table without types takes anything.
  file.change(
      "DROP VIEW call_log; DROP VIEW failed_calls; DROP VIEW driver_blocks;"
      "CREATE TABLE loose AS SELECT * FROM calls; DROP TABLE calls;"
      "ALTER TABLE loose RENAME TO calls;"
      "UPDATE calls SET device = 'x' WHERE call_id = 1;"
      "UPDATE calls SET function_id = 99 WHERE call_id = 2;"
      "UPDATE calls SET end_ns = -1 WHERE call_id = 3;"
      "UPDATE calls SET device = 123456789 WHERE call_id = 4;"
      "UPDATE calls SET stack_id = 77 WHERE call_id = 5;");
  std::vector<Trace> traces = open(file.path());
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_EQ(traces[0].issues.count(IssueKind::kContradictoryRow), 5U);
  EXPECT_EQ(traces[0].events.size(), 2U);
  EXPECT_FALSE(traces[0].allocations.stack[0].valid());
}

TEST(HostileRecording, AProcessThatIsNotListedKeepsItsMemory) {
  RecordingFile file;
  file.write(aFew().all());
  file.finish();
  file.change("DELETE FROM processes; DELETE FROM stack_frames; DELETE FROM frames");
  std::vector<Trace> traces = open(file.path());
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_EQ(liveBytes(traces[0], 0, traces[0].devices[0].steps() - 1), 5 * 4096U);
  EXPECT_GT(traces[0].issues.count(IssueKind::kContradictoryRow), 0U);
}

TEST(HostileRecording, NoCallAtAllIsATraceWithoutEvents) {
  RecordingFile file;
  file.finish();
  std::vector<Trace> traces = open(file.path());
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_EQ(traces[0].events.size(), 0U);
}

// Cut anywhere, any byte changed: an error or a trace, never a crash.
TEST(HostileRecording, DamageIsAnErrorOrATrace) {
  RecordingFile file;
  CallStream calls = aFew();
  for (uint64_t i = 0; i < 2000; ++i) {
    calls.allocate(MemoryKind::kDevice, (i + 10) * kMiB, 4096)
        .device(0)
        .stack(static_cast<uint32_t>(i % 50));
  }
  file.write(calls.all());
  file.finish();
  std::ifstream in(file.path(), std::ios::binary);
  std::string whole((std::istreambuf_iterator<char>(in)), {});
  std::string damaged = file.folder() + "/damaged.tgr";
  auto tryOut = [&](const std::string& bytes) {
    std::ofstream(damaged, std::ios::binary | std::ios::trunc) << bytes;
    auto traces = openRecording(damaged, {});
    EXPECT_FALSE(traces.ok() && traces.value().empty());
    return traces.ok();
  };
  for (size_t length = 0; length < whole.size(); length += 7919) tryOut(whole.substr(0, length));
  uint32_t random = 12345;
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole;
    for (int k = 0; k < 3; ++k) {
      random = random * 1664525 + 1013904223;
      bytes[random % bytes.size()] = static_cast<char>(random >> 13);
    }
    tryOut(bytes);
  }
  EXPECT_TRUE(tryOut(whole));
}

}  // namespace
}  // namespace tidegauge::readers::recording
