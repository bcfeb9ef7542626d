#include "record/session/session.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <string>

#include "store/recording_writer.h"
#include "support/quiet_source.h"
#include "support/temp_folder.h"

namespace tidegauge::record {
namespace {

int64_t numberIn(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(db, sql, -1, &statement, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
  int64_t count = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return count;
}

// A slow machine may take a full ring at once: what a kill or a full disk can cost must not grow
// with it.
TEST(Session, CallsThatComeAtOnceAreSafeBeforeTheNextTick) {
  testing::TempFolder folder;
  std::string path = folder.file("run.sqlite");
  {
    auto writer = store::RecordingWriter::create(path, {});
    ASSERT_TRUE(writer.ok());
    Session session(std::move(writer.value()));
    SeenProcess process;
    process.pid = static_cast<uint32_t>(getpid());
    process.name = "burst";
    session.processSeen(process);
    model::MemoryCall call;
    call.verb = model::Verb::kAllocate;
    call.size_bytes = 4096;
    for (uint64_t i = 0; i < 10000; ++i) {
      call.address = 0x7f0000000000 + i * 4096;
      session.call(call);
    }
    EXPECT_GE(numberIn(path, "SELECT count(*) FROM calls"), 5000);
  }
}

TEST(Session, ExecMakesNoNewProcess) {
  Session session{std::nullopt};
  auto seen = [&](uint32_t pid) {
    SeenProcess process;
    process.index = static_cast<uint32_t>(session.processes().size());
    process.pid = pid;
    session.processSeen(process);
    return process.index;
  };
  uint32_t shell = seen(10), forked = seen(11);
  session.processEnded(forked, 1, std::nullopt);  // exec
  uint32_t python = seen(11);
  session.processEnded(shell, 2, std::nullopt);
  seen(10);
  EXPECT_EQ(session.processes().size(), 4U);
  EXPECT_EQ(session.pids(), 2U);
  session.processEnded(python, 3, 0);
  seen(11);  // the number came again
  EXPECT_EQ(session.pids(), 3U);
}

TEST(Session, AHandleThatIsGivenOutAgainIsAnotherKernelOfTheFile) {
  testing::TempFolder folder;
  std::string path = folder.file("run.sqlite");
  Session session(std::move(store::RecordingWriter::create(path, {}).value()));
  SeenProcess process;
  process.pid = static_cast<uint32_t>(getpid());
  session.processSeen(process);
  LaunchCount count;
  count.kernel = 0x10;
  count.launches = 700;
  session.kernelNamed({0, 0x10, 0, "gemm"});
  session.launchesSeen({count});
  session.kernelNamed({0, 0x10, 0, "gemm"});  // the same one, asked for again
  session.launchesSeen({count});
  session.kernelNamed({0, 0x10, 0, "relu"});
  count.launches = 30;
  session.launchesSeen({count});
  testing::QuietSource source;
  ASSERT_TRUE(session.finish(source).ok());
  EXPECT_EQ(numberIn(path, "SELECT count(*) FROM kernels"), 2);
  EXPECT_EQ(numberIn(path,
                     "SELECT sum(count) FROM launches WHERE kernel_id = "
                     "(SELECT kernel_id FROM kernels WHERE name = 'gemm')"),
            1400);
  EXPECT_EQ(numberIn(path,
                     "SELECT sum(count) FROM launches WHERE kernel_id = "
                     "(SELECT kernel_id FROM kernels WHERE name = 'relu')"),
            30);
}

TEST(Session, AKernelThatGetsItsNameLateHasOneRow) {
  testing::TempFolder folder;
  std::string path = folder.file("run.sqlite");
  Session session(std::move(store::RecordingWriter::create(path, {}).value()));
  SeenProcess process;
  process.pid = static_cast<uint32_t>(getpid());
  process.from_start = true;
  session.processSeen(process);
  LaunchCount count;
  count.kernel = 0x10;
  count.launches = 5;
  session.launchesSeen({count});
  session.kernelNamed({0, 0x10, 0, "gemm"});
  session.launchesSeen({count});
  testing::QuietSource source;
  ASSERT_TRUE(session.finish(source).ok());
  EXPECT_EQ(numberIn(path, "SELECT count(*) FROM kernels WHERE name = 'gemm'"), 1);
  EXPECT_EQ(numberIn(path, "SELECT sum(count) FROM launches JOIN kernels USING(kernel_id)"), 10);
}

// A handle that leads to no function, of a program that was watched late.
TEST(Session, NamesOfKernelsThatCannotBeFoundAreIncomplete) {
  testing::TempFolder folder;
  std::string path = folder.file("run.sqlite");
  Session session(std::move(store::RecordingWriter::create(path, {}).value()));
  SeenProcess process;
  process.pid = static_cast<uint32_t>(getpid());
  session.processSeen(process);
  LaunchCount count;
  count.kernel = 0x10;
  count.launches = 5;
  session.launchesSeen({count});
  testing::QuietSource source;
  ASSERT_TRUE(session.finish(source).ok());
  EXPECT_EQ(numberIn(path,
                     "SELECT count(*) FROM unwatched WHERE figures = 'kernel names' AND "
                     "process_id = 0"),
            1);
}

// A stream that was made on another device than the one that the thread is on.
TEST(Session, ALaunchIsOnTheDeviceOfItsStream) {
  testing::TempFolder folder;
  std::string path = folder.file("run.sqlite");
  Session session(std::move(store::RecordingWriter::create(path, {}).value()));
  SeenProcess process;
  process.pid = static_cast<uint32_t>(getpid());
  process.from_start = true;
  session.processSeen(process);
  model::MemoryCall stream;
  stream.verb = model::Verb::kCreate;
  stream.kind = model::MemoryKind::kStream;
  stream.handle = 0x700;
  stream.device = 1;
  session.call(stream);
  Launch launch;
  launch.stream = 0x700;
  launch.device = 0;
  session.launched(launch);
  testing::QuietSource source;
  ASSERT_TRUE(session.finish(source).ok());
  EXPECT_EQ(numberIn(path, "SELECT device FROM launch_events"), 1);
}

// The counters of --preload lie in memory that programs can write to.
TEST(Session, LossesThatShrinkAreStillThere) {
  Session session(std::nullopt);
  testing::QuietSource source;
  source.lost[LOSS_MEMORY_RING] = 5;
  ASSERT_TRUE(session.finish(source).ok());
  EXPECT_EQ(session.losses()[LOSS_MEMORY_RING], 5U);
  source.lost[LOSS_MEMORY_RING] = 2;
  source.lost[LOSS_STACK] = 1;
  ASSERT_TRUE(session.finish(source).ok());
  EXPECT_EQ(session.losses()[LOSS_MEMORY_RING], 5U);
  EXPECT_EQ(session.losses()[LOSS_STACK], 1U);
}

}  // namespace
}  // namespace tidegauge::record
