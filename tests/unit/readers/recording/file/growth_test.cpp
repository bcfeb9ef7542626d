// Growing recordings: whether there is more, whether more may follow, and stable numbers.
#include "readers/recording/file/growth.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "model/recorded_work.h"
#include "readers/recording/file/sqlite_file.h"
#include "readers/recording/open_recording.h"
#include "support/call_stream.h"
#include "support/recording_file.h"
#include "support/worked_recording.h"

namespace tidegauge::readers::recording {
namespace {

using model::MemoryKind;
using testing::CallStream;
using testing::RecordingFile;

model::Trace readFirst(const std::string& path) {
  auto traces = openRecording(path, {});
  EXPECT_TRUE(traces.ok()) << traces.error().what;
  return std::move(traces.value()[0]);
}

TEST(Growth, IsSeenInTheStampAtEveryCommit) {
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x1000, 512).device(0);
  Stamp before = stampOf(file.path());
  EXPECT_TRUE(before.exists());
  EXPECT_EQ(stampOf(file.path()), before);
  file.write(calls.all());
  EXPECT_NE(stampOf(file.path()), before);
  EXPECT_FALSE(stampOf(file.path() + " not there").exists());
}

// Readers see a commit when the journal's index shows it, which changes no time or size of a file.
// Here the journal restarts from its beginning, so its size stays, and its old time is restored.
TEST(Growth, IsSeenWhereSizesAndTimesAreTheSame) {
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x1000, 512).device(0);
  for (int i = 0; i < 50; ++i) file.write(calls.all());
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file.path().c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA wal_checkpoint(RESTART)", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  Stamp before = stampOf(file.path());
  file.write(calls.all());
  timespec times[2] = {{0, UTIME_OMIT}, {before.journal.seconds, before.journal.nanoseconds}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (file.path() + "-wal").c_str(), times, 0), 0);
  Stamp after = stampOf(file.path());
  EXPECT_EQ(after.file, before.file);
  EXPECT_EQ(after.journal, before.journal);
  EXPECT_NE(after, before);
}

TEST(Growth, TheWritersLockShowsThatItLives) {
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x1000, 512).device(0);
  file.write(calls.all());
  EXPECT_TRUE(hasWriter(file.path()));
  model::Trace trace = readFirst(file.path());
  EXPECT_EQ(trace.source.format, "recording of GPU memory calls, still being written");
  EXPECT_FALSE(trace.work->run->ended_ns);
  EXPECT_TRUE(hasWriter(file.path()));  // reading does not take it away
  file.write(calls.all());              // nor SQLite's own locks
  file.finish();
  EXPECT_FALSE(hasWriter(file.path()));
  trace = readFirst(file.path());
  EXPECT_EQ(trace.source.format, "recording of GPU memory calls");
  EXPECT_TRUE(trace.work->run->ended_ns);
  EXPECT_FALSE(hasWriter(file.path() + " not there"));
}

// A descriptor that is closed takes all locks of its process along: readers on other threads have
// some.
TEST(Growth, AskingLeavesTheLocksOfReaders) {
  constexpr off_t kSharedByte =
      0x40000002;  // SQLite's lock bytes for readers: 510 bytes from there
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x1000, 512).device(0);
  file.write(calls.all());
  auto reader = SqliteFile::open(file.path());
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(hasWriter(file.path()));
  EXPECT_TRUE(isOpen(file.path()));
  (void)readFirst(file.path());
  pid_t child = ::fork();  // a process does not see its own locks
  if (child == 0) {
    int seen = ::open(file.path().c_str(), O_RDWR);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_start = kSharedByte;
    lock.l_len = 510;
    if (::fcntl(seen, F_GETLK, &lock) != 0) ::_exit(2);
    ::_exit(lock.l_type == F_RDLCK && lock.l_pid == ::getppid() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Growth, AKilledWriterLeavesNoLock) {
  std::string folder = ::testing::TempDir() + "growth_" + std::to_string(::getpid());
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  std::string path = folder + "/run.tgr";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  pid_t child = ::fork();
  if (child == 0) {
    auto writer = store::RecordingWriter::create(path, {});
    if (writer.ok()) (void)writer.value().commit();
    (void)!::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(hasWriter(path));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(hasWriter(path));
  EXPECT_EQ(readFirst(path).source.format,
            "recording of GPU memory calls, without the recorder's end");
  Stamp stamp = stampOf(path);
  (void)readFirst(path);
  EXPECT_EQ(stampOf(path), stamp);  // reading it is no growth
  for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((path + suffix).c_str());
  ::rmdir(folder.c_str());
  ::close(ready[0]);
  ::close(ready[1]);
}

// A checkpointed journal is empty. SQLite removes an empty one with the last connection, and a
// connection without locks assumes that it is the last. The recorder would then write to a file
// without a name.
TEST(Growth, NoReaderRemovesTheJournal) {
  std::string folder = ::testing::TempDir() + "journal.XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::string path = folder + "/run.sqlite";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  pid_t child = ::fork();
  if (child == 0) {
    auto writer = store::RecordingWriter::create(path, {});
    if (writer.ok() && writer.value().commit().ok()) writer.value().fold();
    (void)!::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  auto journalBytes = [&] {
    struct stat file {};
    return ::stat((path + "-wal").c_str(), &file) == 0 ? file.st_size : off_t{-1};
  };
  ASSERT_EQ(journalBytes(), 0);
  // An index that cannot be read, and none can be made.
  ASSERT_EQ(::rename((path + "-shm").c_str(), (path + "-kept").c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", (path + "-shm").c_str()), 0);
  EXPECT_FALSE(openRecording(path, {}).ok());  // its writer has locks
  EXPECT_EQ(journalBytes(), 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(openRecording(path, {}).ok());  // none has
  EXPECT_EQ(journalBytes(), 0);
  for (const char* suffix : {"", "-wal", "-shm", "-kept"}) ::unlink((path + suffix).c_str());
  ::rmdir(folder.c_str());
  ::close(ready[0]);
  ::close(ready[1]);
}

// Two devices in turns: their rows are separate, but numbers of stacks and streams follow the time.
TEST(Growth, NumbersOfStacksAndStreamsStay) {
  RecordingFile file;
  auto part = [&](uint64_t from) {
    CallStream calls;
    for (uint64_t i = from; i < from + 20; ++i) {
      calls.allocate(MemoryKind::kDevice, 0x10000 * (i + 1), 512)
          .device(static_cast<int32_t>(i % 2))
          .stack(static_cast<uint32_t>(i))
          .stream(100 + i);
    }
    return calls.all();
  };
  file.write(part(0));
  model::Trace before = readFirst(file.path());
  std::vector<model::MemoryCall> more = part(20);
  for (model::MemoryCall& call : more) call.start_ns = call.end_ns += 1000;
  file.write(more);
  model::Trace after = readFirst(file.path());
  ASSERT_EQ(before.devices.size(), 2U);
  ASSERT_EQ(after.stacks.size(), 40U);
  auto label = [](const model::Trace& trace, uint32_t stack) {
    model::FrameId frame = trace.stacks.framesOf(model::StackId(stack))[0];
    return std::string(trace.strings.text(trace.frames.function[frame.index()]));
  };
  for (uint32_t i = 0; i < before.stacks.size(); ++i) {
    EXPECT_EQ(label(before, i), label(after, i)) << i;
    EXPECT_EQ(label(after, i), "f" + std::to_string(i));
  }
  for (size_t i = 0; i < before.streams.size(); ++i) {
    EXPECT_EQ(before.streams[i].raw, after.streams[i].raw) << i;
  }
}

TEST(WorkTables, ContradictionsAreCountedAndPassedOver) {
  RecordingFile file;
  testing::addWork(file);
  file.finish();
  file.change(
      "INSERT INTO launches VALUES (5, 4, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1);"
      "INSERT INTO copies VALUES (4, 5, 0, 'set', 0, 2, 1, 1, 1, 0);"
      "INSERT INTO losses VALUES (4, 'odd', -1);");
  model::Trace trace = readFirst(file.path());
  uint64_t contradictions = trace.issues.count(model::IssueKind::kContradictoryRow);
  EXPECT_EQ(contradictions, 3U);
  EXPECT_EQ(trace.work->launches.size(), 5U);
  EXPECT_EQ(trace.work->copies.size(), 4U);
  EXPECT_EQ(trace.work->run->losses.size(), 2U);
}

TEST(WorkTables, ATableThatIsNotThereIsAnIssue) {
  RecordingFile file;
  testing::addWork(file);
  file.finish();
  file.change("DROP VIEW launch_counts; DROP TABLE launches; DROP TABLE meta;");
  model::Trace trace = readFirst(file.path());
  auto unread = std::count_if(trace.issues.all().begin(), trace.issues.all().end(),
                              [](const model::Issue& issue) {
                                return issue.kind == model::IssueKind::kIncompleteRecording &&
                                       (issue.detail.starts_with("table launches") ||
                                        issue.detail.starts_with("table meta"));
                              });
  EXPECT_EQ(unread, 2);
  EXPECT_EQ(trace.work->launches.size(), 0U);
  EXPECT_EQ(trace.work->copies.size(), 4U);
}

}  // namespace
}  // namespace tidegauge::readers::recording
