// A recording that is a ring of files: the last part alone says what is live, by whom and since
// when.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "model/memory_call.h"
#include "record/kernel/functions.h"
#include "record/session/session.h"
#include "support/bytes.h"
#include "support/quiet_source.h"
#include "support/temp_folder.h"

namespace tidegauge::record {
namespace {

using testing::idOf;

namespace fs = std::filesystem;

constexpr int64_t kBegin_ns = 1'700'000'000'000'000'000;

std::vector<std::vector<std::string>> rowsOf(const std::string& path, const std::string& sql) {
  std::vector<std::vector<std::string>> rows;
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr), SQLITE_OK) << sql;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    auto& row = rows.emplace_back();
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const unsigned char* text = sqlite3_column_text(statement, i);
      row.emplace_back(text == nullptr ? "NULL" : reinterpret_cast<const char*>(text));
    }
  }
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return rows;
}

// One process that holds a block from its beginning, and others that start and end.
class Churn {
 public:
  Churn(const std::string& path, uint64_t max_bytes, uint64_t part_bytes)
      : session_(std::move(store::RecordingWriter::create(path, {}).value()), nullptr,
                 PartRing(path, max_bytes, part_bytes)) {
    SeenProcess early;
    early.index = 0;
    early.pid = 3'999'999'999U;
    session_.processSeen(early);
    session_.processEnded(0, kBegin_ns, 0);
    SeenProcess process;
    process.index = 1;
    process.pid = 4'000'000'000U;
    process.name = "churn";
    process.first_ns = kBegin_ns;
    session_.processSeen(process);
    for (uint32_t i = 0; i < 5; ++i) session_.stackSeen(1, i, {0x1000 + i, 0x2000, 0x3000});
    call("cuMemAlloc_v2", 0x500000000000, 12'345, 4);
  }
  void call(std::string_view name, uint64_t address, uint64_t bytes, uint32_t stack) {
    model::MemoryCall call;
    now_ns_ += 1000;
    call.process = 1;
    call.start_ns = now_ns_ - 10;
    call.end_ns = now_ns_;
    call.address = address;
    call.size_bytes = bytes;
    call.device = 0;
    call.function = idOf(name);
    const WatchedFunction& function = watchedFunctions()[call.function];
    call.verb = function.verb;
    call.kind = function.kind;
    call.stack = stack;
    session_.call(call);
  }
  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      uint64_t address = 0x7f0000000000 + static_cast<uint64_t>(i % 100) * kMiB;
      if (done_++ >= 100) call("cuMemFree_v2", address, 0, 0);
      call("cuMemAlloc_v2", address, 4096, static_cast<uint32_t>(i % 3));
    }
  }
  Session& session() { return session_; }

 private:
  Session session_;
  int64_t now_ns_ = kBegin_ns;
  int done_ = 0;
};

uint64_t bytesIn(const std::string& folder) {
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder)) bytes += entry.file_size();
  return bytes;
}

// Another program that opens the file at any moment: it is there, and has all of its tables.
TEST(SessionParts, NobodyFindsHalfOfAPart) {
  testing::TempFolder folder;
  std::string path = folder.file("run.sqlite");
  testing::QuietSource source;
  Churn churn(path, 8 * kMiB, kMiB);
  std::atomic<bool> ended = false;
  uint64_t looks = 0, absent = 0, partial = 0;
  std::thread reader([&] {
    constexpr off_t kSchemaBytes = off_t{16384} * 8;
    while (!ended) {
      int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      struct stat status {};
      ++looks;
      absent += file < 0;
      partial += file >= 0 && ::fstat(file, &status) == 0 && status.st_size < kSchemaBytes;
      if (file >= 0) ::close(file);
    }
  });
  for (int i = 0; i < 60; ++i) churn.rounds(2000);
  ended = true;
  reader.join();
  EXPECT_GT(churn.session().ring()->number(), 8U);
  EXPECT_GT(looks, 0U);
  EXPECT_EQ(absent, 0U);
  EXPECT_EQ(partial, 0U);
  ASSERT_TRUE(churn.session().finish(source).ok());
  EXPECT_FALSE(fs::exists(path + "-new"));
}

TEST(SessionParts, TheLastPartAloneSaysWhatIsLive) {
  testing::TempFolder folder;
  std::string path = folder.file("run.sqlite");
  testing::QuietSource source;
  source.lost[LOSS_MEMORY_RING] = 3;
  Churn churn(path, 8 * kMiB, kMiB);
  ASSERT_TRUE(churn.session().tick(source).ok());
  churn.session().devicesSeen({kBegin_ns, {{0, "A", "GPU-A", kMiB, 7, {{{4'000'000'000U, 5}}}}}});
  uint64_t most = 0, least = UINT64_MAX;
  for (int i = 0; i < 60; ++i) {
    churn.rounds(2000);
    most = std::max(most, bytesIn(folder.path()));
    if (churn.session().ring()->removed() > 0) least = std::min(least, bytesIn(folder.path()));
  }
  uint32_t last = churn.session().ring()->number();
  std::vector<std::string> kept = churn.session().ring()->kept();
  ASSERT_TRUE(churn.session().finish(source).ok());
  EXPECT_GT(last, 8U);
  EXPECT_LE(most, 8 * kMiB);
  EXPECT_GE(least, 4 * kMiB);
  ASSERT_GE(kept.size(), 2U);
  EXPECT_FALSE(fs::exists(partName(path, 1)));
  EXPECT_EQ(kept.back(), partName(path, last - 1));
  // A part has what was live, and that much beside it; it is looked at when its journal is folded.
  for (const std::string& part : kept) {
    EXPECT_LE(fs::file_size(part), 2 * kMiB) << part;
    EXPECT_GE(fs::file_size(part), kMiB) << part;
  }

  // What does not change is in each part.
  using Rows = std::vector<std::vector<std::string>>;
  EXPECT_EQ(rowsOf(path, "SELECT device, name, total_bytes FROM devices"),
            (Rows{{"0", "A", "1048576"}}));
  EXPECT_EQ(rowsOf(path, "SELECT device, pid, used_bytes FROM device_memory ORDER BY pid"),
            (Rows{{"0", "NULL", "7"}, {"0", "4000000000", "5"}}));
  // By hand: what was carried and not freed since, and what came since.
  // The one of the beginning and a hundred, or one less if it begins between a free and what
  // follows.
  EXPECT_EQ(rowsOf(path,
                   "SELECT count(*) - (SELECT value FROM meta "
                   "WHERE key = 'carried_calls') FROM calls")[0][0],
            std::to_string(churn.session().partCalls()));
  EXPECT_GT(churn.session().calls(), 8 * churn.session().partCalls());
  int carried = std::stoi(rowsOf(path, "SELECT value FROM meta WHERE key = 'carried_calls'")[0][0]);
  EXPECT_TRUE(carried == 100 || carried == 101) << carried;
  auto live =
      rowsOf(path, "SELECT count(*), sum(size_bytes) FROM driver_blocks WHERE freed_ns IS NULL");
  const model::ProcessLedger& ledger = *churn.session().ledger().find(1);
  EXPECT_EQ(live[0][0], std::to_string(ledger.deviceSum(0).live));
  EXPECT_EQ(live[0][1], std::to_string(ledger.deviceSum(0).bytes));
  // The block of the first part: its time and its stack, of three frames.
  auto held =
      rowsOf(path,
             "SELECT call_id, start_ns, end_ns > start_ns, process_id, (SELECT count(*) FROM "
             "stack_frames s WHERE s.stack_id = c.stack_id) FROM calls c WHERE size_bytes = 12345");
  ASSERT_EQ(held.size(), 1U);
  EXPECT_LE(std::stoi(held[0][0]), carried);
  EXPECT_EQ(held[0][1], std::to_string(kBegin_ns + 1000));
  EXPECT_EQ(held[0][2], "1");
  EXPECT_EQ(held[0][3], "1");
  EXPECT_EQ(held[0][4], "3");
  EXPECT_EQ(rowsOf(path, "SELECT group_concat(process_id) FROM processes")[0][0], "1");
  EXPECT_EQ(rowsOf(path, "SELECT sum(count) FROM losses")[0][0], "3");
  EXPECT_EQ(rowsOf(path, "SELECT value FROM meta WHERE key = 'continues'")[0][0],
            fs::path(kept.back()).filename().string());
  for (const std::string& part : kept) {
    EXPECT_FALSE(fs::exists(part + "-wal"));
    EXPECT_EQ(rowsOf(part, "PRAGMA integrity_check")[0][0], "ok");
    EXPECT_EQ(rowsOf(part, "SELECT count(*) FROM meta WHERE key = 'ended_ns'")[0][0], "1");
  }
}

TEST(SessionParts, HalfOfTheSizeIsThereThoughMuchIsLive) {
  testing::TempFolder folder;
  std::string path = folder.file("run.sqlite");
  testing::QuietSource source;
  Churn churn(path, 16 * kMiB, 0);
  ASSERT_TRUE(churn.session().tick(source).ok());
  for (uint64_t i = 0; i < 25'000; ++i)
    churn.call("cuMemAlloc_v2", 0x600000000000 + i * kMiB, 4096, 3);
  uint64_t most = 0, least = UINT64_MAX;
  for (int i = 0; i < 150; ++i) {
    churn.rounds(2000);
    most = std::max(most, bytesIn(folder.path()));
    if (churn.session().ring()->removed() > 0) least = std::min(least, bytesIn(folder.path()));
  }
  EXPECT_GT(churn.session().ring()->removed(), 3U);
  EXPECT_LE(most, 16 * kMiB);
  EXPECT_GE(least, 8 * kMiB);
  ASSERT_TRUE(churn.session().finish(source).ok());
  EXPECT_FALSE(churn.session().ring()->isTooSmall());
  // From when on: what the oldest part that is left does not only carry.
  std::string oldest = churn.session().ring()->kept().front();
  EXPECT_EQ(rowsOf(oldest, "SELECT value FROM meta WHERE key = 'began_ns'")[0][0],
            std::to_string(churn.session().ring()->keptFrom_ns()));
}

// Renaming a file that somebody reads with its journal would take the journal from him.
TEST(SessionParts, APartThatIsBeingReadEndsLater) {
  testing::TempFolder folder;
  std::string path = folder.file("run.sqlite");
  testing::QuietSource source;
  source.lost[LOSS_MEMORY_RING] = 3;
  Churn churn(path, 64 * kMiB, kMiB / 2);
  churn.rounds(100);
  ASSERT_TRUE(churn.session().tick(source).ok());
  sqlite3* reader = nullptr;
  ASSERT_EQ(sqlite3_open_v2(path.c_str(), &reader, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM calls", nullptr, nullptr, nullptr),
            SQLITE_OK);
  churn.rounds(60'000);
  EXPECT_EQ(churn.session().ring()->number(), 1U);
  sqlite3_close(reader);
  // The recorder tries again every half second, or after four seconds if its readers have been
  // there for two.
  for (int i = 0; i < 100 && churn.session().ring()->number() == 1; ++i) {
    usleep(100'000);
    churn.rounds(10'000);
  }
  EXPECT_GT(churn.session().ring()->number(), 1U);
  ASSERT_TRUE(churn.session().finish(source).ok());
  std::map<std::string, int> seen;
  for (const auto& entry : fs::directory_iterator(folder.path())) ++seen[entry.path().extension()];
  EXPECT_EQ(seen.size(), 1U);  // .sqlite, and nothing beside
}

TEST(PartRing, PartsHaveTheNameOfTheFile) {
  EXPECT_EQ(partName("run.sqlite", 3), "run.3.sqlite");
  EXPECT_EQ(partName("a.b/run", 12), "a.b/run.12");
  EXPECT_EQ(partName("a/.run", 1), "a/.run.1");
}

TEST(PartRing, OlderPartsGoOnlyIfTheyAreRecordingsThatNobodyWrites) {
  testing::TempFolder folder;
  std::string path = folder.file("run.sqlite");
  std::string part = folder.file("run.7.sqlite");
  std::ofstream(folder.file("run.x.sqlite")) << "mine";
  std::ofstream(folder.file("other.1.sqlite")) << "mine";
  EXPECT_TRUE(PartRing::older(path, false).value().empty());
  {
    auto writer = store::RecordingWriter::create(part, {});
    ASSERT_TRUE(writer.ok());
    EXPECT_FALSE(PartRing::older(path, false).ok());
    EXPECT_FALSE(PartRing::older(path, true).ok());  // it is being written
    ASSERT_TRUE(writer.value().finish().ok());
  }
  EXPECT_FALSE(PartRing::older(path, false).ok());
  auto older = PartRing::older(path, true);
  ASSERT_TRUE(older.ok());
  EXPECT_EQ(older.value(), std::vector<std::string>{part});
  std::ofstream(folder.file("run.8.sqlite")) << "no recording";
  EXPECT_FALSE(PartRing::older(path, true).ok());
  fs::remove(folder.file("run.8.sqlite"));
  ASSERT_TRUE(PartRing::remove(older.value()).ok());
  EXPECT_FALSE(fs::exists(part));
  EXPECT_TRUE(fs::exists(folder.file("run.x.sqlite")));
}

TEST(PartRing, KnowsItsPartsByTheirNumbers) {
  testing::TempFolder folder;
  std::string path = folder.file("run.sqlite"), part = folder.file("run.7.sqlite");
  auto recorded = [&](const char* number) {
    store::WriterOptions options;
    options.replace = true;
    auto writer = store::RecordingWriter::create(part, options);
    ASSERT_TRUE(writer.ok());
    if (number != nullptr) {
      ASSERT_TRUE(writer.value().setMeta("part", number).ok());
    }
    ASSERT_TRUE(writer.value().finish().ok());
  };
  EXPECT_EQ(PartRing::notAPart(path), "");
  recorded("7");
  EXPECT_EQ(PartRing::notAPart(path), "");
  recorded("1");  // of another ring
  EXPECT_EQ(PartRing::notAPart(path), part);
  recorded(nullptr);  // `record -o run.7.sqlite`
  EXPECT_EQ(PartRing::notAPart(path), part);
  std::ofstream(part) << "no recording";
  EXPECT_EQ(PartRing::notAPart(path), part);
}

}  // namespace
}  // namespace tidegauge::record
