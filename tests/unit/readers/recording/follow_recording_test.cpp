#include "readers/recording/follow_recording.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "model/ledger/ledger.h"
#include "support/bytes.h"
#include "support/call_stream.h"
#include "support/recording_file.h"

namespace tidegauge::readers::recording {
namespace {

using model::LiveSnapshot;
using model::LiveState;
using model::MemoryKind;
using testing::CallStream;
using testing::RecordingFile;

constexpr int64_t kSecond = 1'000'000'000;

LiveSnapshot look(RecordingFollower& follower, const model::LiveWish& wish = {}) {
  auto found = follower.look(wish);
  EXPECT_TRUE(found.ok()) << found.error().what;
  return found.ok() ? std::move(found).value() : LiveSnapshot();
}

std::vector<model::MemoryCall> between(const CallStream& calls, size_t begin, size_t end) {
  auto at = [&](size_t i) { return calls.all().begin() + static_cast<ptrdiff_t>(i); };
  return {at(begin), at(end)};
}

// Additional looks change nothing: rows are read once, and in order.
TEST(FollowRecording, ManyLooksSeeWhatOneLookSees) {
  CallStream calls;
  for (uint64_t i = 0; i < 300; ++i) {
    uint64_t address = 0x10000000 * (i + 1);
    calls.allocate(MemoryKind::kDevice, address, (i % 7 + 1) * kMiB)
        .device(static_cast<int32_t>(i % 2))
        .process(static_cast<uint32_t>(i % 3))
        .stack(static_cast<uint32_t>(i % 5));
    if (i % 4 == 0) calls.free(MemoryKind::kDevice, address).process(static_cast<uint32_t>(i % 3));
    if (i % 50 == 0) calls.allocate(MemoryKind::kDevice, 0x1, kMiB).code(2).stack(9);
  }
  model::Ledger truth;
  for (const model::MemoryCall& call : calls.all()) truth.take(call);
  RecordingFile file;
  RecordingFollower follower(file.path());
  for (size_t begin = 0; begin < calls.all().size(); begin += 37) {
    file.write(between(calls, begin, std::min(begin + 37, calls.all().size())));
    LiveSnapshot now = look(follower);
    EXPECT_EQ(now.state, LiveState::kRecording);
    EXPECT_EQ(now.calls, std::min(begin + 37, calls.all().size()));
  }
  RecordingFollower late(file.path());
  for (const LiveSnapshot& now : {look(follower), look(late)}) {
    EXPECT_EQ(now.calls, calls.all().size());
    ASSERT_EQ(now.processes.size(), 3U);
    for (const model::LiveRow& row : now.processes) {
      const model::ProcessLedger& ledger = *truth.find(row.process);
      EXPECT_EQ(row.pid, 41 + row.process);
      EXPECT_EQ(row.live_bytes, ledger.deviceSum(0).bytes + ledger.deviceSum(1).bytes);
      EXPECT_EQ(row.allocations, ledger.deviceSum(0).allocations + ledger.deviceSum(1).allocations);
    }
    ASSERT_EQ(now.failures.size(), 1U);
    EXPECT_EQ(now.failures[0].count, 6U);
    EXPECT_EQ(now.failures[0].function, "driver_allocate_device");
    EXPECT_EQ(now.failures[0].stack.frames,
              (std::vector<std::string>{"model.py:9 f9", "train.py:3 main"}));
    EXPECT_EQ(now.stacks[0].stack.frames.size(), 2U);
    EXPECT_EQ(now.bad_rows, 0U);
    EXPECT_EQ(now.read_share, 1);
  }
}

TEST(FollowRecording, ATableThatIsMissingCostsOnlyItself) {
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, 8 * kMiB).device(0);
  file.write(calls.all());
  file.finish();
  file.change("DROP VIEW copy_sums; DROP TABLE copies");
  RecordingFollower follower(file.path());
  for (int i = 0; i < 2; ++i) {
    LiveSnapshot now = look(follower);
    EXPECT_EQ(now.processes.at(0).live_bytes, 8 * kMiB);
    EXPECT_EQ(now.incomplete, model::FigureSet({model::Figures::kCopies}));
    ASSERT_EQ(now.unwatched.size(), 1U) << "reported once";
    EXPECT_NE(now.unwatched[0].what.reason.find("table copies"), std::string::npos);
  }
}

TEST(FollowRecording, WhatIsNotWatchedIsOfItsProcess) {
  RecordingFile file;
  RecordingFollower follower(file.path());
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, kMiB).device(0);
  calls.allocate(MemoryKind::kDevice, 0x20000000, kMiB).device(0).process(1);
  file.write(calls.all());
  EXPECT_TRUE(look(follower).incomplete.empty());
  model::Unwatched locked;
  locked.pid = 42;
  locked.function = "cuLaunchKernel";
  locked.figures = {model::Figures::kLaunches};
  locked.reason = "cannot be probed";
  ASSERT_TRUE(file.writer().addUnwatched(locked, 1).ok());
  ASSERT_TRUE(file.writer().commit().ok());
  LiveSnapshot now = look(follower);
  EXPECT_EQ(now.incomplete, model::FigureSet({model::Figures::kLaunches}));
  for (const model::LiveRow& row : now.processes)
    EXPECT_EQ(row.incomplete.empty(), row.process != 1) << row.process;
  model::LiveWish other;
  other.process = 0;
  EXPECT_TRUE(follower.look(other).value().incomplete.empty());
}

TEST(FollowRecording, LaunchesCopiesNamesLossesAndEndsArriveLate) {
  RecordingFile file;
  RecordingFollower follower(file.path());
  EXPECT_TRUE(look(follower).processes.empty());
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, 8 * kMiB).device(0).stack(1);
  file.write(calls.all());
  EXPECT_EQ(look(follower).processes.at(0).launches, 0U);
  store::RecordingWriter& writer = file.writer();
  uint32_t kernel = writer.addKernel(0, 0x77, "gemm").value();
  store::LaunchRow launches;
  launches.begin_ns = kSecond;
  launches.end_ns = 2 * kSecond;
  launches.kernel = kernel;
  launches.count = 300;
  ASSERT_TRUE(writer.addLaunches(launches).ok());
  store::CopyRow copies;
  copies.begin_ns = kSecond;
  copies.end_ns = 2 * kSecond;
  copies.direction = "host to device";
  copies.count = 2;
  copies.size_bytes = 4096;
  copies.host_ns = 1000;
  ASSERT_TRUE(writer.addCopies(copies).ok());
  ASSERT_TRUE(writer.addLoss(2 * kSecond, "no stack", 5).ok());
  ASSERT_TRUE(writer.nameFrame(0, "renamed", "train.py", 99).ok());
  ASSERT_TRUE(writer.commit().ok());
  LiveSnapshot now = look(follower);
  EXPECT_EQ(now.processes.at(0).launches, 300U);
  EXPECT_EQ(now.kernels.at(0).name, "gemm");
  EXPECT_EQ(now.copies.at(0).bytes, 4096U);
  ASSERT_EQ(now.losses.size(), 1U);
  EXPECT_EQ(now.losses[0].count, 5U);
  EXPECT_EQ(now.stacks.at(0).stack.frames.at(1), "train.py:99 renamed") << "names may follow";

  ASSERT_TRUE(writer.endProcess(0, 3 * kSecond, 0, store::EndReason::kExit).ok());
  ASSERT_TRUE(writer.commit().ok());
  now = look(follower);
  EXPECT_EQ(now.processes.at(0).ended_ns, 3 * kSecond);
  EXPECT_EQ(now.processes.at(0).live_bytes, 0U);
  EXPECT_EQ(now.processes.at(0).unfreed_bytes, 8 * kMiB);
  ASSERT_TRUE(writer.addLaunches(launches).ok());
  file.finish();
  now = look(follower);
  EXPECT_EQ(now.state, LiveState::kFinished);
  EXPECT_EQ(now.launches, 600U) << "the last counts come with the end";
}

TEST(FollowRecording, AKilledWritersFileIsNotCalledLive) {
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, kMiB).device(0);
  file.write(calls.all());
  std::string left = file.folder() + "/left.tgr";
  std::filesystem::copy_file(file.path(), left);
  std::filesystem::copy_file(file.path() + "-wal", left + "-wal");
  RecordingFollower follower(left);
  LiveSnapshot now = look(follower);
  EXPECT_EQ(now.state, LiveState::kAbandoned);
  EXPECT_EQ(now.processes.at(0).live_bytes, kMiB);
  EXPECT_EQ(now.now_ns, now.newest_ns) << "its time stands still";
}

TEST(FollowRecording, AFileThatTakesItsNameIsBegunAnew) {
  RecordingFile file, other;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, kMiB).device(0);
  file.write(calls.all());
  RecordingFollower follower(file.path());
  EXPECT_EQ(look(follower).calls, 1U);
  calls.allocate(MemoryKind::kDevice, 0x20000000, 2 * kMiB).device(0);
  other.write(calls.all());
  other.finish();
  file.finish();
  std::filesystem::rename(other.path(), file.path());
  LiveSnapshot now = look(follower);
  EXPECT_EQ(now.calls, 2U);
  EXPECT_EQ(now.processes.at(0).live_bytes, 3 * kMiB);
  std::filesystem::remove(file.path());
  EXPECT_FALSE(follower.look({}).ok());
}

TEST(FollowRecording, ALongFileIsReadInParts) {
  constexpr uint64_t kCalls = RecordingBooks::kMaxRowsPerLook + 50'000;
  RecordingFile file;
  CallStream calls;
  for (uint64_t i = 0; i < kCalls; ++i)
    calls.allocate(MemoryKind::kDevice, 0x1000 * (i + 1), 0x1000).device(0);
  file.write(calls.all());
  ASSERT_TRUE(file.writer().endProcess(0, calls.nowNs(), 0, store::EndReason::kExit).ok());
  file.finish();
  RecordingFollower follower(file.path());
  LiveSnapshot now = look(follower);
  EXPECT_LE(now.calls, RecordingBooks::kMaxRowsPerLook);
  EXPECT_GT(now.calls, RecordingBooks::kMaxRowsPerLook - 100);
  EXPECT_LT(now.read_share, 1);
  EXPECT_GT(now.read_share, 0.7);
  EXPECT_FALSE(now.processes.at(0).ended_ns) << "its calls have not all been read";
  now = look(follower);
  EXPECT_EQ(now.calls, kCalls);
  EXPECT_EQ(now.read_share, 1);
  EXPECT_TRUE(now.processes.at(0).ended_ns);
  EXPECT_EQ(now.processes.at(0).peak_bytes, kCalls * 0x1000);
}

TEST(FollowRecording, RowsThatCannotBeAreCountedAndPassedOver) {
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000000, kMiB).device(0).stack(1);
  file.write(calls.all());
  file.finish();
  file.change(
      "INSERT INTO calls SELECT NULL, 9, 5, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, NULL, 0, 0;"
      "INSERT INTO launches VALUES (1, 2, 0, 999, 0, 1, 1, 1, 1, 1, 1, 5);"
      "INSERT INTO copies VALUES (1, 2, 0, 'x', 0, 0, -5, 1, 1, 0);"
      "INSERT INTO losses VALUES (1, 'gone', -1);"
      "INSERT INTO processes VALUES (-3, 1, 0, 'x', 'x', 0, 5, NULL, NULL, NULL);"
      "UPDATE frames SET module_id = 12345;");
  RecordingFollower follower(file.path());
  LiveSnapshot now = look(follower);
  EXPECT_EQ(now.bad_rows, 4U);
  EXPECT_EQ(now.calls, 1U);
  EXPECT_TRUE(now.losses.empty());
  EXPECT_EQ(now.stacks.at(0).stack.frames.size(), 2U);

  file.change(
      "ALTER TABLE calls RENAME TO old_calls; CREATE VIEW calls AS SELECT * FROM old_calls");
  EXPECT_FALSE(follower.look({}).ok());
  std::ofstream(file.path(), std::ios::trunc) << "no database";
  EXPECT_FALSE(follower.look({}).ok());
}

}  // namespace
}  // namespace tidegauge::readers::recording
