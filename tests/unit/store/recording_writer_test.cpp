#include "store/recording_writer.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "model/recording_format.h"
#include "support/call_stream.h"
#include "support/recording_file.h"

namespace tidegauge::store {
namespace {

using model::MemoryKind;
using testing::CallStream;
using testing::RecordingFile;

// The first value of the first row, as text; "NULL" for none.
std::string ask(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
      << sqlite3_errmsg(db);
  std::string answer = "no row";
  if (sqlite3_step(statement) == SQLITE_ROW) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    answer = text == nullptr ? "NULL" : text;
  }
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return answer;
}

CallStream someCalls(size_t count) {
  CallStream calls;
  for (size_t i = 0; i < count; ++i) {
    calls.allocate(MemoryKind::kDevice, 0x1000 * (i + 1), 0x800).device(0).stack(1);
  }
  return calls;
}

TEST(RecordingWriter, WritesWhatAnySqliteReads) {
  RecordingFile file;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0xffff800000001000, 4096).device(1).stack(7).handle(3);
  calls.free(MemoryKind::kDevice, 0xffff800000001000);
  calls.allocate(MemoryKind::kDevice, 0, 512).code(2);
  file.write(calls.all());
  EXPECT_TRUE(file.writer().endProcess(0, 99, 256, EndReason::kExit).ok());
  EXPECT_TRUE(file.writer().addLoss(5, "ring full", 17).ok());
  EXPECT_TRUE(file.writer().addDevice({0, "H200", "GPU-1", 1 << 30}).ok());
  EXPECT_TRUE(file.writer().addDeviceMemory({5, 0, 41, 1 << 20}).ok());
  uint32_t kernel = file.writer().addKernel(0, 0x77, "gemm<float>").value();
  LaunchRow launch{1, 2, 0, kernel, 0, {1, 2, 3}, {32, 1, 1}, 10};
  EXPECT_TRUE(file.writer().addLaunches(launch).ok());
  EXPECT_TRUE(file.writer().addLaunches(launch).ok());
  std::vector<uint8_t> arguments{1, 2, 0, 0, 3, 0, 0, 0};
  EXPECT_TRUE(file.writer().addLaunchEvent({launch, 41, 0, 0, -1, 0, arguments, 2}).ok());
  EXPECT_TRUE(file.writer().addLaunchEvent({launch, 41, 0, 0, -1, 0, {}, {}}).ok());
  EXPECT_TRUE(file.writer().setKernelParameters(kernel, "0:4 4:4").ok());
  EXPECT_TRUE(file.writer().addCopies({1, 2, 0, "host to device", 0, true, 3, 4096, 500, 1}).ok());
  EXPECT_TRUE(file.writer().setMeta("command", "python train.py").ok());
  file.finish();
  EXPECT_EQ(ask(file.path(), "PRAGMA application_id"),
            std::to_string(model::kRecordingApplication));
  EXPECT_EQ(ask(file.path(), "PRAGMA user_version"), std::to_string(model::kRecordingVersion));
  EXPECT_EQ(ask(file.path(), "PRAGMA integrity_check"), "ok");
  EXPECT_EQ(ask(file.path(), "SELECT address FROM calls WHERE call_id = 1"),
            std::to_string(static_cast<int64_t>(0xffff800000001000)));
  EXPECT_EQ(ask(file.path(), "SELECT device FROM calls WHERE call_id = 2"), "NULL");
  EXPECT_EQ(ask(file.path(), "SELECT hex(arguments) || parameters FROM launch_events"),
            "01020000030000002");
  EXPECT_EQ(ask(file.path(),
                "SELECT count(*) FROM launch_events WHERE arguments IS NULL AND "
                "parameters IS NULL"),
            "1");
  EXPECT_EQ(ask(file.path(), "SELECT parameters FROM kernels"), "0:4 4:4");
  EXPECT_EQ(ask(file.path(), "SELECT count(*) FROM failed_calls"), "1");
  EXPECT_EQ(ask(file.path(), "SELECT freed_ns - allocated_ns FROM driver_blocks"), "10");
  EXPECT_EQ(
      ask(file.path(), "SELECT group_concat(function, ' < ') FROM stack_lines WHERE stack_id = 0"),
      "f7 < main");
  EXPECT_EQ(ask(file.path(), "SELECT kernel || count FROM launch_counts"), "gemm<float>20");
  EXPECT_EQ(ask(file.path(), "SELECT direction || size_bytes FROM copy_sums"),
            "host to device4096");
  EXPECT_EQ(ask(file.path(), "SELECT exit_status || end_reason FROM processes"), "256exit");
  EXPECT_EQ(ask(file.path(), "SELECT count FROM losses"), "17");
  EXPECT_EQ(ask(file.path(), "SELECT value FROM meta WHERE key = 'command'"), "python train.py");
  EXPECT_EQ(ask(file.path(), "SELECT length(arguments) FROM launch_events"), "8");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file.folder()), {}), 1);
}

TEST(RecordingWriter, ReadersSeeWhatWasCommittedWhileItWrites) {
  RecordingFile file;
  file.write(someCalls(10).all());
  file.add(someCalls(5).all());
  EXPECT_EQ(ask(file.path(), "SELECT count(*) FROM calls"), "10");
  EXPECT_GE(file.writer().rowsInTransaction(), 5U);
  EXPECT_TRUE(file.writer().commit().ok());
  EXPECT_EQ(file.writer().rowsInTransaction(), 0U);
  EXPECT_EQ(ask(file.path(), "SELECT count(*) FROM calls"), "15");
}

TEST(RecordingWriter, KillLeavesEverythingThatWasCommitted) {
  RecordingFile file;  // only for its folder
  std::string path = file.folder() + "/killed.tgr";
  pid_t child = fork();
  if (child == 0) {
    auto writer = RecordingWriter::create(path, {});
    if (!writer.ok()) _exit(1);
    (void)writer.value().addFunction({"f", model::Plane::kDriver, {}, {}});
    for (int i = 0; i < 100000; ++i) {
      (void)writer.value().addCall({});
      if (i == 70000) (void)writer.value().commit();
    }
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(ask(path, "SELECT count(*) FROM calls"), "70001");
  EXPECT_EQ(ask(path, "PRAGMA integrity_check"), "ok");
}

TEST(RecordingWriter, AFileThatIsBeingWrittenIsNotReplaced) {
  RecordingFile file;
  std::string path = file.folder() + "/busy.tgr";
  WriterOptions force;
  force.replace = true;
  {
    auto first = RecordingWriter::create(path, {});
    ASSERT_TRUE(first.ok());
    auto second = RecordingWriter::create(path, force);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().kind, base::ErrorKind::kUsage);
    EXPECT_NE(second.error().what.find("is being recorded to"), std::string::npos);
    EXPECT_TRUE(first.value().addCall({}).ok());
    EXPECT_TRUE(first.value().finish().ok());
  }
  EXPECT_EQ(ask(path, "SELECT count(*) FROM calls"), "1");
  ASSERT_TRUE(RecordingWriter::create(path, force).ok());  // nothing writes it any more
}

TEST(RecordingWriter, OnlyPlainFilesAreReplaced) {
  RecordingFile file;
  std::string path = file.folder() + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  WriterOptions force;
  force.replace = true;
  EXPECT_FALSE(RecordingWriter::create(path, force).ok());
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST(RecordingWriter, AFileThatVanishesEndsIt) {
  RecordingFile file;
  std::string path = file.folder() + "/gone.tgr", elsewhere = file.folder() + "/moved.tgr";
  for (bool is_moved : {false, true}) {
    auto writer = RecordingWriter::create(path, {});
    ASSERT_TRUE(writer.ok());
    EXPECT_TRUE(writer.value().addCall({}).ok());
    EXPECT_TRUE(writer.value().commit().ok());
    if (is_moved) {
      std::filesystem::rename(path, elsewhere);
      std::ofstream(path) << "another file";
    } else {
      std::filesystem::remove(path);
      std::filesystem::remove(path + "-wal");
      std::filesystem::remove(path + "-shm");
    }
    (void)writer.value().addCall({});
    base::Status status = writer.value().commit();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, base::ErrorKind::kUnreadable);
    EXPECT_NE(status.error().what.find(is_moved ? "replaced" : "removed"), std::string::npos);
  }
  EXPECT_EQ(std::filesystem::file_size(path), 12U);
}

TEST(RecordingWriter, AFileThatIsCutEndsIt) {
  RecordingFile file;
  for (uintmax_t left : {0U, 4096U}) {
    std::string path = fmt::format("{}/cut{}.tgr", file.folder(), left);
    auto writer = RecordingWriter::create(path, {});
    ASSERT_TRUE(writer.ok());
    EXPECT_TRUE(writer.value().addCall({}).ok());
    EXPECT_TRUE(writer.value().commit().ok());
    EXPECT_TRUE(writer.value().addCall({}).ok());
    EXPECT_TRUE(writer.value().commit().ok());
    std::filesystem::resize_file(path, left);
    (void)writer.value().addCall({});
    base::Status status = writer.value().commit();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, base::ErrorKind::kUnreadable);
    EXPECT_NE(status.error().what.find("cut"), std::string::npos) << status.error().what;
    EXPECT_FALSE(writer.value().finish().ok());
  }
}

// A limit on the size of files acts like a full disk: a write fails.
TEST(RecordingWriter, AFullDiskEndsItWithWhatWasWrittenIntact) {
  RecordingFile file;
  std::string path = file.folder() + "/full.tgr";
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto writer = RecordingWriter::create(path, {});
    if (!writer.ok()) _exit(1);
    base::Status status = base::okStatus();
    for (int i = 0; i < 1000000 && status.ok(); ++i) {
      status = writer.value().addCall({});
      if (status.ok() && i % 1000 == 999) status = writer.value().commit();
    }
    if (status.ok()) _exit(2);
    bool named = status.error().what.find("is intact") != std::string::npos;
    bool stays = !writer.value().addCall({}).ok() && !writer.value().finish().ok();
    _exit(named && stays ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(ask(path, "PRAGMA integrity_check"), "ok");
  EXPECT_EQ(ask(path, "SELECT count(*) > 1000 AND count(*) % 1000 = 0 FROM calls"), "1");
}

TEST(RecordingWriter, OverwritesNothingUnlessRequested) {
  RecordingFile file;
  std::string path = file.folder() + "/other";
  std::ofstream(path) << "mine";
  auto refused = RecordingWriter::create(path, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, base::ErrorKind::kUsage);
  EXPECT_NE(refused.error().what.find("already exists"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(path), 4U);
  EXPECT_TRUE(RecordingWriter::create(path, {.replace = true, .recorder = ""}).ok());
  EXPECT_GT(std::filesystem::file_size(path), 4U);
  EXPECT_FALSE(RecordingWriter::create(file.folder() + "/none/file", {}).ok());
  // A journal of another file must not become ours.
  std::ofstream(file.folder() + "/fresh-wal") << "old";
  EXPECT_FALSE(RecordingWriter::create(file.folder() + "/fresh", {}).ok());
}

TEST(RecordingWriter, ANameThatLooksLikeAUriIsAFile) {
  RecordingFile file;
  std::filesystem::current_path(file.folder());
  EXPECT_TRUE(RecordingWriter::create("file:x?mode=memory", {}).ok());
  EXPECT_TRUE(std::filesystem::exists(file.folder() + "/file:x?mode=memory"));
  EXPECT_TRUE(RecordingWriter::create(":memory:", {}).ok());
  EXPECT_TRUE(std::filesystem::exists(file.folder() + "/:memory:"));
  std::filesystem::current_path("/");
}

TEST(RecordingWriter, InvalidUtf8IsRepaired) {
  RecordingFile file;
  std::string name("a\xff\xc0\x80\xed\xa0\x80\0z é 名 😀", 21);
  EXPECT_TRUE(file.writer().setMeta("name", name).ok());
  EXPECT_TRUE(file.writer().setMeta("long", std::string(1 << 20, 'x')).ok());
  file.finish();
  EXPECT_EQ(ask(file.path(), "SELECT value FROM meta WHERE key = 'name'"),
            "a\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd?z é 名 😀");
  EXPECT_EQ(ask(file.path(), "SELECT length(value) FROM meta WHERE key = 'long'"), "65536");
}

}  // namespace
}  // namespace tidegauge::store
