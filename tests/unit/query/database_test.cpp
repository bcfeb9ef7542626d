#include "query/database.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "query/docs.h"
#include "support/trace_builder.h"

namespace tidegauge::query {
namespace {

using model::BlockState;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TraceBuilder;

// Device 0: a segment, three allocations (one freed, one pending, one live), an OOM; device 1: one.
model::Trace smallTrace() {
  TraceBuilder b;
  b.settings().items = {{"max_split_size", "-1"}, {"expandable_segments", "False"}};
  b.settings().asked = {{"expandable_segments", "True", "False", true},
                        {"backend", "native", "", false}};
  b.time(5'000'000);
  b.segmentAlloc(0x100000, 2 << 20);                                             // 0
  b.stack({"log_softmax@loss.py:30", "step@train.py:12"}).alloc(0x100000, 700);  // 1
  b.stack({"forward@model.py:7", "step@train.py:12"}).alloc(0x100400, 4096);     // 2
  b.free(0x100000, 700);                                                         // 3, 4
  b.alloc(0x100000, 100);                                                        // 5
  b.oom(1000, 1 << 30);                                                          // 6
  b.freeRequested(0x100400, 4096);                                               // 7
  b.finalSegment(0x100000, 2 << 20)
      .block(512, BlockState::kActiveAllocated, 100)
      .block(512, BlockState::kInactive)
      .block(4096, BlockState::kActivePendingFree, 4096)
      .block((2 << 20) - 5120, BlockState::kInactive);
  b.device(1).noStack().segmentAlloc(0x900000, 2 << 20).alloc(0x900000, 512);
  b.finalSegment(0x900000, 2 << 20)
      .block(512, BlockState::kActiveAllocated, 512)
      .block((2 << 20) - 512, BlockState::kInactive);
  b.annotation("train", 5'000'001, 5'000'004);
  b.tensor(0x900000, "head.weight").tensor(0x900080, "head.bias").device(0);
  b.tensor(0x100000, "first.output", model::TensorKind::kActivation, 5'000'002);
  b.tensor(0x77, "gone", model::TensorKind::kOther);
  return b.build();
}

class DatabaseTest : public ::testing::Test {
 protected:
  analysis::AnalysedTrace trace_{smallTrace()};
  Database database_{trace_};

  static std::string text(const Cell& cell) {
    if (const auto* s = std::get_if<std::string>(&cell)) return *s;
    if (const auto* i = std::get_if<int64_t>(&cell)) return std::to_string(*i);
    if (const auto* d = std::get_if<double>(&cell)) return "real " + std::to_string(*d);
    return "NULL";
  }

  // Rows separated by "; ", cells by " ".
  std::string ask(const std::string& sql) {
    auto result = database_.run(sql, {});
    if (!result.ok()) return "error: " + result.error().what + " / " + result.error().hint;
    std::string all;
    for (const auto& row : result.value().rows) {
      if (!all.empty()) all += "; ";
      for (size_t i = 0; i < row.size(); ++i) all += (i > 0 ? " " : "") + text(row[i]);
    }
    return all;
  }

  std::string plan(const std::string& sql) {
    auto result = database_.run("EXPLAIN QUERY PLAN " + sql, {});
    if (!result.ok()) return "error: " + result.error().what;
    std::string all;
    for (const auto& row : result.value().rows) all += text(row[3]) + "\n";
    return all;
  }
};

// ---- tables -------------------------------------------------------------------------------------

TEST_F(DatabaseTest, EventsHaveTheColumnsOfTheTrace) {
  EXPECT_EQ(ask("SELECT device, step, action, address, size_bytes, device_free_bytes, time_us, "
                "allocation_id, segment_id FROM events WHERE device = 0 AND step IN (0, 1, 6)"),
            "0 0 segment_alloc 1048576 2097152 NULL 5000000 NULL 0; "
            "0 1 alloc 1048576 700 NULL 5000001 0 0; "
            "0 6 oom NULL 1073741824 1000 5000006 NULL NULL");
}

TEST_F(DatabaseTest, AllocationsKeepTheThreeSizesApart) {
  EXPECT_EQ(ask("SELECT id, device, address_id(address, version), requested_bytes, block_bytes, "
                "block_bytes_inferred, alloc_step, free_requested_step, free_completed_step, "
                "alloc_time_us, free_time_us, provenance FROM allocations"),
            "0 0 b100000_0 700 1024 1 1 3 4 5000001 5000004 traced; "
            "1 0 b100400_0 4096 4096 0 2 7 NULL 5000002 5000007 traced; "
            "2 0 b100000_1 100 512 0 5 NULL NULL 5000005 NULL traced; "
            "3 1 b900000_0 512 512 0 1 NULL NULL 5000009 NULL traced");
}

TEST_F(DatabaseTest, SegmentsPiecesAndBlocksDescribeTheSameMemory) {
  EXPECT_EQ(ask("SELECT id, device, total_bytes, alloc_step, free_step FROM segments"),
            "0 0 2097152 0 NULL; 1 1 2097152 0 NULL");
  EXPECT_EQ(ask("SELECT segment_id, size_bytes, first_step, last_step FROM pieces"),
            "0 2097152 0 8; 1 2097152 0 2");
  EXPECT_EQ(ask("SELECT size_bytes, requested_bytes, state, allocation_id FROM blocks "
                "WHERE segment_id = 0"),
            "512 100 active_allocated 2; 512 0 inactive NULL; "
            "4096 4096 active_pending_free 1; 2092032 0 inactive NULL");
}

TEST_F(DatabaseTest, TotalsAndDevicesAgree) {
  EXPECT_EQ(ask("SELECT step, requested_bytes, active_bytes, reserved_bytes FROM totals "
                "WHERE device = 0 AND step IN (0, 2, 4)"),
            "0 0 0 2097152; 2 4796 5120 2097152; 4 4096 4096 2097152");
  EXPECT_EQ(ask("SELECT device, name, total_bytes, events, peak_active_bytes, peak_active_step, "
                "final_active_bytes, final_reserved_bytes FROM devices"),
            "0 cuda:0 NULL 8 5120 2 4608 2097152; 1 cuda:1 NULL 2 512 1 512 2097152");
}

TEST_F(DatabaseTest, StacksFramesAndText) {
  EXPECT_EQ(ask("SELECT text FROM stacks WHERE text LIKE '%LOG_softmax%'"),
            "loss.py:30 log_softmax\ntrain.py:12 step");
  EXPECT_EQ(ask("SELECT stack_text(0), stack_text(99), stack_text(NULL)"),
            "loss.py:30 log_softmax\ntrain.py:12 step NULL NULL");
  EXPECT_EQ(ask("SELECT x.position, f.function, f.line, f.kind FROM stack_frames x "
                "JOIN frames f ON f.id = x.frame_id WHERE x.stack_id = 1"),
            "0 forward 7 python; 1 step 12 python");
  EXPECT_EQ(ask("SELECT id FROM allocations WHERE stack_text LIKE '%model.py%'"), "1; 2");
}

TEST_F(DatabaseTest, SmallTables) {
  EXPECT_EQ(ask("SELECT name, device, begin_step, end_step, depth FROM annotations"),
            "train 0 1 5 0");
  EXPECT_EQ(ask("SELECT * FROM settings"),
            "max_split_size -1  NULL; expandable_segments False True 0; backend  native NULL");
  EXPECT_EQ(ask("SELECT id, raw FROM streams"), "0 0");
  EXPECT_EQ(ask("SELECT id, first, second FROM pools"), "0 0 0");
}

TEST_F(DatabaseTest, TableFunctionsShowOneStep) {
  EXPECT_EQ(ask("SELECT id FROM live_at(0, 2)"), "0; 1");
  EXPECT_EQ(ask("SELECT id FROM live_at(0, 999) ORDER BY block_bytes DESC"), "1; 2");
  EXPECT_EQ(ask("SELECT id FROM live_at(NULL, 2)"), "");
  EXPECT_EQ(ask("SELECT id FROM live_at(0, 2.0)"), "0; 1");
  EXPECT_EQ(ask("SELECT state, size_bytes FROM blocks_at(0, 1) ORDER BY address"),
            "active_allocated 1024; inactive 2096128");
  EXPECT_EQ(ask("SELECT d.device, count(*) FROM devices d JOIN live_at(d.device, 1) a "
                "GROUP BY d.device"),
            "0 1; 1 1");
  EXPECT_EQ(ask("SELECT * FROM live_at(0)"),
            "error: live_at needs 2 arguments: live_at(device, step) / ");
}

TEST_F(DatabaseTest, WrongArgumentsAreErrorsNotEmptyTables) {
  EXPECT_EQ(ask("SELECT * FROM live_at(0, 2, 3)"),
            "error: live_at takes 2 arguments: live_at(device, step) / ");
  EXPECT_EQ(ask("SELECT count(*) FROM live_at(0, 2) WHERE stack_text LIKE '%'"), "2");
  EXPECT_EQ(ask("SELECT id FROM live_at(7, 2)"),
            "error: live_at(device, step): there is no device 7; the file has: 0, 1 / ");
  EXPECT_EQ(ask("SELECT * FROM blocks_at(0, -1)"),
            "error: blocks_at(device, step): step must be 0 or more, not -1 / ");
  EXPECT_EQ(ask("SELECT id FROM live_at(0, 'end')"),
            "error: live_at(device, step): step must be a whole number / ");
  EXPECT_EQ(ask("SELECT id FROM live_at(0.5, 1)"),
            "error: live_at(device, step): device must be a whole number / ");
  EXPECT_EQ(ask("SELECT stack_text('top')"),
            "error: stack_text(stack_id): stack_id must be a whole number / ");
  EXPECT_EQ(ask("SELECT human_bytes('much')"),
            "error: human_bytes(n): n must be a number of bytes / ");
  EXPECT_EQ(ask("SELECT human_bytes(1e300)"), "error: human_bytes(n): n is too large / ");
  EXPECT_EQ(ask("SELECT hex_address('b7f')"),
            "error: hex_address(address): address must be a whole number / ");
  EXPECT_EQ(ask("SELECT address_id(1, -1)"),
            "error: address_id(address, version): both must be whole numbers / ");
  EXPECT_EQ(ask("SELECT median(action) FROM events"), "error: median(x): x must be a number / ");
  EXPECT_EQ(ask("SELECT percentile(step, 'half') FROM events"),
            "error: percentile(x, p): p must be a number from 0 to 100 / ");
  EXPECT_EQ(ask("SELECT percentile(step, NULL) FROM events"),
            "error: percentile(x, p): p must be a number from 0 to 100 / ");
  EXPECT_EQ(ask("SELECT percentile(step, step) FROM events WHERE device = 0"),
            "error: percentile(x, p): p must be the same in all rows / ");
}

// 1,073,741,824 B were requested, 1,000 left, 2 MiB reserved: of 4 GiB, other processes have the
// rest.
TEST_F(DatabaseTest, TheSizeOfADeviceCanBeGiven) {
  const std::string sum = "SELECT DISTINCT other_bytes, total_bytes FROM ";
  EXPECT_EQ(ask(sum + "oom_verdicts(0)"), "NULL NULL");
  EXPECT_EQ(ask(sum + "oom_verdicts_at(0, 4294967296)"), "4292869144 4294967296");
  EXPECT_EQ(ask(sum + "oom_verdicts_at(0, 2098151)"), "NULL 2098151")
      << "one byte less than it had";
  EXPECT_EQ(ask("SELECT verdict FROM oom_verdicts_at(0, 4294967296)"), "others; capacity");
  EXPECT_EQ(ask("SELECT value FROM advice(0) WHERE name = 'other_bytes'"), "");
  EXPECT_EQ(ask("SELECT value FROM advice_at(0, 4294967296) WHERE name = 'other_bytes'"),
            "4292869144");
  EXPECT_EQ(
      ask("SELECT * FROM advice_at(0, -1)"),
      "error: advice_at(device, capacity_bytes): capacity_bytes must be 0 or more, not -1 / ");
}

TEST_F(DatabaseTest, ScalarsAndAggregates) {
  EXPECT_EQ(ask("SELECT human_bytes(37075550208), human_bytes(NULL), address_id(4096, 3)"),
            "34.53 GiB NULL b1000_3");
  EXPECT_EQ(ask("SELECT hex_address(140660100497408), hex_address(-4096), hex_address(NULL), "
                "human_bytes('1024'), human_bytes(-1536.0)"),
            "0x7fedfb530000 0xfffffffffffff000 NULL 1.0 KiB −1.5 KiB");
  EXPECT_EQ(ask("SELECT median(x), percentile(x, 25) FROM (SELECT 1 AS x UNION ALL SELECT 2 UNION "
                "ALL SELECT 4 UNION ALL SELECT NULL)"),
            "real 2.000000 real 1.500000");
  EXPECT_EQ(ask("SELECT percentile(1, 101)"),
            "error: percentile(x, p): p must be a number from 0 to 100 / ");
}

// ---- constraints that the tables handle instead of SQLite ---------------------------------------

TEST_F(DatabaseTest, ConstraintsAndOrdersArePushedDown) {
  EXPECT_EQ(plan("SELECT * FROM events WHERE device = 0 AND step BETWEEN 2 AND 5 ORDER BY step"),
            "SCAN events VIRTUAL TABLE INDEX 0:device = ?, step >= ?, step <= ?\n");
  EXPECT_EQ(plan("SELECT * FROM events WHERE action = 'alloc'"),
            "SCAN events VIRTUAL TABLE INDEX 0:action = ?\n");
  EXPECT_EQ(plan("SELECT * FROM events ORDER BY device DESC, step DESC"),
            "SCAN events VIRTUAL TABLE INDEX 0: backwards\n");
  EXPECT_EQ(plan("SELECT * FROM events ORDER BY size_bytes DESC"),
            "SCAN events VIRTUAL TABLE INDEX 0:ordered by size_bytes descending\n");
  EXPECT_EQ(plan("SELECT action, count(*) FROM events GROUP BY action"),
            "SCAN events VIRTUAL TABLE INDEX 0:ordered by action\n");
  EXPECT_EQ(plan("SELECT * FROM events ORDER BY action"),
            "SCAN events VIRTUAL TABLE INDEX 0:ordered by action\n");
  EXPECT_EQ(plan("SELECT * FROM events ORDER BY size_bytes DESC LIMIT 100 OFFSET 5"),
            "SCAN events VIRTUAL TABLE INDEX 0:ordered by size_bytes descending, the first 105\n");
  EXPECT_EQ(plan("SELECT * FROM totals ORDER BY active_bytes LIMIT 3"),
            "SCAN totals VIRTUAL TABLE INDEX 0:ordered by active_bytes, the first 3\n");
  EXPECT_THAT(plan("SELECT * FROM stacks ORDER BY text"), HasSubstr("TEMP B-TREE"))
      << "texts that are made for each row have no keys";
  EXPECT_THAT(plan("SELECT max(active_bytes) FROM totals"), ::testing::Not(HasSubstr("ordered")))
      << "totals are slow to read out of order";
  EXPECT_EQ(plan("SELECT * FROM stacks WHERE text LIKE '%a%'"),
            "SCAN stacks VIRTUAL TABLE INDEX 0:text LIKE ?\n");
  EXPECT_THAT(plan("SELECT count(*) FROM allocations a JOIN stacks s ON s.id = a.stack_id"),
              HasSubstr("SCAN s VIRTUAL TABLE INDEX"));
}

// ---- limits -------------------------------------------------------------------------------------

TEST_F(DatabaseTest, StopsAtTheRowLimitAndSaysSo) {
  auto result = database_.run("SELECT step FROM events", {.rows = 3});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().rows.size(), 3U);
  EXPECT_TRUE(result.value().summary.truncated);
  EXPECT_FALSE(database_.run("SELECT step FROM events", {.rows = 10}).value().summary.truncated);
  auto few_bytes = database_.run("SELECT hex(zeroblob(1000)) FROM events", {.bytes = 5000});
  EXPECT_EQ(few_bytes.value().rows.size(), 2U);
  EXPECT_TRUE(few_bytes.value().summary.truncated);
}

constexpr char kEndless[] =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";

TEST_F(DatabaseTest, ShortcutsEndAsOtherStatementsDo) {
  const char* sql = "SELECT action, count(*) FROM events GROUP BY action";
  std::stop_source stop;
  stop.request_stop();
  auto stopped = database_.run(sql, {.stop = stop.get_token()});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().what, "the query was cancelled");
  auto late = database_.run(sql, {.milliseconds = 0});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().what, "the query ran longer than 0 ms");
  auto one = database_.run(sql, {.rows = 1});
  ASSERT_TRUE(one.ok());
  EXPECT_TRUE(one.value().summary.shortcut);
  EXPECT_TRUE(one.value().summary.truncated);
  EXPECT_EQ(one.value().rows.size(), 1U);
}

TEST_F(DatabaseTest, EndsWhenTimeIsUp) {
  auto result = database_.run(kEndless, {.milliseconds = 20});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, base::ErrorKind::kLimit);
  EXPECT_EQ(result.error().what, "the query ran longer than 20 ms");
}

TEST_F(DatabaseTest, EndsWhenAsked) {
  std::stop_source stop;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  auto result = database_.run(kEndless, {.stop = stop.get_token()});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().what, "the query was cancelled");
}

TEST_F(DatabaseTest, AnswersManyThreadsAtOnce) {
  std::string expected = ask("SELECT size_bytes, count(*) FROM events GROUP BY size_bytes");
  std::vector<std::string> answers(8);
  {
    std::vector<std::jthread> threads;
    for (std::string& answer : answers) {
      threads.emplace_back(
          [&] { answer = ask("SELECT size_bytes, count(*) FROM events GROUP BY size_bytes"); });
    }
  }
  for (const std::string& answer : answers) EXPECT_EQ(answer, expected);
}

// ---- a part of the file ------------------------------------------------------------------------

TEST_F(DatabaseTest, AScopeLeavesItsPartOfTheTables) {
  Database part(trace_, {.device = 0, .first_step = 2, .last_step = 4});
  auto count = [&](const std::string& sql) {
    auto result = part.run(sql, {});
    return result.ok() ? text(result.value().rows.at(0).at(0)) : result.error().what;
  };
  EXPECT_EQ(count("SELECT group_concat(step) FROM events"), "2,3,4");
  EXPECT_EQ(count("SELECT group_concat(step) FROM (SELECT step FROM totals ORDER BY step DESC)"),
            "4,3,2");
  EXPECT_EQ(count("SELECT group_concat(id) FROM allocations"), "0,1") << "2 is born at step 5";
  EXPECT_EQ(count("SELECT count(*) FROM segments"), "1");
  EXPECT_EQ(count("SELECT group_concat(device) FROM devices"), "0");
  EXPECT_EQ(count("SELECT name FROM annotations"), "train");
  EXPECT_EQ(count("SELECT count(*) FROM stacks"), "2") << "stacks belong to no device";
  EXPECT_EQ(count("SELECT group_concat(step) FROM (SELECT step FROM events ORDER BY size_bytes)"),
            "3,4,2");
  EXPECT_EQ(count("SELECT count(*) FROM live_at(1, 1)"), "1") << "it names its place itself";
  Database second(trace_, {.device = 1, .first_step = {}, .last_step = {}});
  EXPECT_EQ(second.run("SELECT id FROM allocations", {}).value().rows.size(), 1U);
}

// ---- results ------------------------------------------------------------------------------------

TEST_F(DatabaseTest, ColumnsKnowWhatTheyHold) {
  auto result = database_.run(
      "SELECT device, step, size_bytes, time_us, action, step + 1 AS next_step, sum(size_bytes) AS "
      "total_bytes, 1.5 AS share, max(time_us) AS last_time_us FROM events",
      {});
  ASSERT_TRUE(result.ok());
  std::string kinds;
  for (const QueryColumn& column : result.value().columns) {
    kinds += std::string(name(column.kind)) + " ";
  }
  EXPECT_EQ(kinds, "integer step bytes time text step bytes real time ");
}

TEST_F(DatabaseTest, NoRowsStillHaveColumns) {
  auto result = database_.run("SELECT step FROM events WHERE step < 0", {});
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result.value().columns.size(), 1U);
  EXPECT_EQ(result.value().columns[0].kind, ColumnKind::kStep);
}

// ---- errors -------------------------------------------------------------------------------------

TEST_F(DatabaseTest, ABadColumnIsReportedWithTheRightOnes) {
  auto result = database_.run("SELECT e.stpe FROM events AS e", {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, base::ErrorKind::kUsage);
  EXPECT_EQ(result.error().what, "no such column: e.stpe");
  EXPECT_EQ(result.error().byte_offset, 7U);
  EXPECT_THAT(result.error().hint, AllOf(HasSubstr("events has the columns device, step,"),
                                         HasSubstr(". Did you mean step?")));
  EXPECT_THAT(ask("SELECT size FROM events"), HasSubstr(". Did you mean size_bytes?"));
  EXPECT_THAT(ask("SELECT 1 FROM events WHERE action = \"oom\""),
              HasSubstr("Write text in single quotes: 'oom'."));
}

TEST_F(DatabaseTest, ABadTableOrFunctionIsReportedWithTheRightOnes) {
  EXPECT_THAT(ask("SELECT * FROM alocations"), AllOf(HasSubstr("no such table: alocations"),
                                                     HasSubstr(". Did you mean allocations?")));
  EXPECT_THAT(ask("SELECT humanbytes(1)"), HasSubstr(". Did you mean human_bytes?"));
}

// SQLite says "no such function" for a table function in the place of a value.
TEST_F(DatabaseTest, ATableFunctionIsNotAValue) {
  EXPECT_EQ(
      ask("SELECT live_at(0, 1)"),
      "error: no such function: live_at / live_at(device, step) takes 2 arguments and returns "
      "a table. Write SELECT * FROM live_at(device, step).");
  EXPECT_THAT(ask("SELECT Growth()"),
              HasSubstr("growth(device) takes 1 argument and returns a table."));
  EXPECT_THAT(ask("SELECT * FROM live_at(0)"), HasSubstr("live_at needs 2 arguments"));
  EXPECT_THAT(ask("SELECT human_bytes(1, 2)"),
              AllOf(HasSubstr("wrong number of arguments to function human_bytes()"),
                    HasSubstr("Write human_bytes(n).")));
}

TEST_F(DatabaseTest, OtherMistakesAreReportedWithAHint) {
  EXPECT_THAT(ask("SELECT evnets.step FROM events"), HasSubstr(". Did you mean events?"));
  EXPECT_THAT(ask("SELECT id FROM allocations JOIN stacks"), HasSubstr("Write the table's name"));
  EXPECT_THAT(ask("SELECT median() FROM events"), HasSubstr("Write median(x)."));
  EXPECT_THAT(ask("SHOW TABLES"), HasSubstr("The tables are: file, devices, events"));
  EXPECT_THAT(ask(".schema"), HasSubstr("The tables are: file, devices, events"));
  EXPECT_THAT(ask("SELECT step FROM events WHERE"), HasSubstr("The SQL ends too early."));
  EXPECT_THAT(ask("events"), HasSubstr("A query starts with SELECT"));
}

TEST_F(DatabaseTest, OnlyReadingIsAllowed) {
  for (const char* sql :
       {"DELETE FROM events", "INSERT INTO events(step) VALUES (1)", "CREATE TABLE t(x)",
        "CREATE TEMP TABLE t(x)", "DROP TABLE events", "ATTACH 'x.db' AS x", "PRAGMA cache_size",
        "PRAGMA writable_schema = 1", "SELECT * FROM pragma_table_list", "VACUUM", "BEGIN",
        "UPDATE sqlite_master SET type = 1", "CREATE VIEW v AS SELECT 1", "REINDEX", "ANALYZE",
        "SELECT load_extension('x')", "VACUUM INTO 'x.db'", "SAVEPOINT s",
        "CREATE VIRTUAL TABLE t USING events"}) {
    auto result = database_.run(sql, {});
    ASSERT_FALSE(result.ok()) << sql;
    EXPECT_EQ(result.error().kind, base::ErrorKind::kUsage) << sql;
  }
  EXPECT_EQ(ask("DELETE FROM events"),
            "error: a query cannot change the file / Use SELECT, WITH or EXPLAIN.");
  EXPECT_THAT(ask("SELECT * FROM sqlite_master"),
              HasSubstr("The tables are: file, devices, events"));
}

TEST_F(DatabaseTest, OneStatementAtATime) {
  EXPECT_EQ(ask("SELECT 1; SELECT 2"),
            "error: more than one statement / Run one statement at a time.");
  EXPECT_EQ(ask("SELECT 1; -- that is all\n ; "), "1");
  EXPECT_THAT(ask("  -- nothing\n"), HasSubstr("there is no SQL to run"));
  EXPECT_THAT(ask(""), HasSubstr("there is no SQL to run"));
  EXPECT_THAT(ask(std::string("SELECT 1\0 garbage", 17)),
              HasSubstr("the SQL contains a zero byte"));
}

// Each would run for minutes, or take all memory, in one call that nothing can interrupt.
TEST_F(DatabaseTest, SingleCallsAreBounded) {
  EXPECT_THAT(ask("SELECT printf('%.*c', 1000000000, 'x')"), HasSubstr("go up to 1000"));
  EXPECT_THAT(ask("SELECT format('%1000000000d', 1)"), HasSubstr("go up to 1000"));
  EXPECT_THAT(ask("SELECT zeroblob(1048577)"), HasSubstr("too big"));
  EXPECT_THAT(ask("SELECT trim(hex(zeroblob(400000)), hex(zeroblob(400000)))"),
              HasSubstr("trim cuts off at most 100"));
  EXPECT_THAT(ask("SELECT length(group_concat(a.text || b.text || hex(zeroblob(500000)))) "
                  "FROM stacks a, stacks b, stacks c"),
              HasSubstr("too big"));
  EXPECT_THAT(ask("SELECT 'x' LIKE hex(zeroblob(1000))"), HasSubstr("pattern too complex"));
  EXPECT_THAT(ask("SELECT replace(hex(zeroblob(400000)), '0', '12')"), HasSubstr("too big"));
  EXPECT_EQ(ask("SELECT instr(hex(zeroblob(500000)), hex(zeroblob(250000)) || '1')"), "0");
}

TEST_F(DatabaseTest, TheBoundedFunctionsAreThoseOfSqlite) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  for (const char* sql :
       {"printf('%d %5d|%-5d|%05d|%+d|%,d', 1, 2, 3, 4, 5, 1234567)",
        "printf('%x %X %o', 255, 255, 8)",
        "printf('%.2f %8.3f %e %g', 1.005, 2.5, 12345.678, 0.0001)",
        "printf('%s|%10s|%-6s|%.2s', 'a', 'b', 'c', 'defg')",
        "printf('%q %Q %w', 'it''s', 'it''s', 'a\"b')",
        "printf('%Q|%s', NULL, NULL)",
        "printf('100%%')",
        "printf('%c%.3c|%5c', 'xyz', 'ab', 'q')",
        "printf('%*d|%-*d|%.*f', 5, 42, 5, 42, 1, 2.55)",
        "printf('%d %s')",
        "printf('ü%sß', 'é')",
        "format('%lld', 9223372036854775807)",
        "printf('%!.15g', 0.1)",
        "typeof(printf(NULL))",
        "trim('  a b '), ltrim('  a '), rtrim(' a  ')",
        "trim('xyaxy', 'yx'), ltrim('ööa', 'ö'), rtrim('aöü', 'üö')",
        "trim('a', ''), typeof(trim(NULL, 'x'))",
        "typeof(trim('a', NULL)), trim(5), trim('')",
        "instr('aäbc', 'bc'), instr('abc', 'x'), instr('abc', ''), instr('', ''), instr('', 'a')",
        "instr(x'c3a462', x'62'), instr('äb', x'62'), instr(x'', x''), instr(12345, 34)",
        "typeof(instr(NULL, 'a')), typeof(instr('a', NULL)), instr('aab', 'ab')",
        "replace('aaaa', 'aa', 'b'), replace('abc', '', 'x'), replace('äöü', 'ö', 'oe')",
        "replace('abc', 'c', ''), replace('abc', 'x', 'y'), replace(121, 1, 'one')",
        "typeof(replace('a', 'b', NULL)), typeof(replace(NULL, "
        "'b', '')), typeof(replace(5, '', 1))"}) {
    std::string query = std::string("SELECT ") + sql;
    sqlite3_stmt* statement = nullptr;
    ASSERT_EQ(sqlite3_prepare_v2(db, query.c_str(), -1, &statement, nullptr), SQLITE_OK) << query;
    ASSERT_EQ(sqlite3_step(statement), SQLITE_ROW) << query;
    std::string expected;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const auto* cell = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
      expected += (i > 0 ? " " : "") + std::string(cell == nullptr ? "NULL" : cell);
    }
    sqlite3_finalize(statement);
    EXPECT_EQ(ask(query), expected) << query;
  }
  sqlite3_close(db);
}

TEST_F(DatabaseTest, HostileSqlIsBounded) {
  std::string deep(5000, '(');
  EXPECT_THAT(ask("SELECT " + deep), HasSubstr("error"));
  EXPECT_THAT(ask("SELECT zeroblob(2000000000)"), HasSubstr("error"));
  EXPECT_THAT(ask("SELECT '" + std::string(2 << 20, 'x') + "'"), HasSubstr("error"));
}

// ---- the schema ---------------------------------------------------------------------------------

TEST_F(DatabaseTest, TheSchemaIsWhatCanBeAsked) {
  for (const TableDoc& table : database_.schema().tables) {
    std::string columns;
    for (const ColumnDoc& column : table.columns) {
      columns += (columns.empty() ? "\"" : ", \"") + column.name + "\"";
    }
    auto result = database_.run("SELECT " + columns + " FROM " + table.name, {});
    ASSERT_TRUE(result.ok()) << table.name << ": " << result.error().what;
    EXPECT_EQ(result.value().rows.size(), table.rows) << table.name;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      EXPECT_EQ(result.value().columns[i].kind, table.columns[i].kind)
          << table.name << "." << table.columns[i].name;
    }
  }
}

TEST_F(DatabaseTest, TensorsNameAllocations) {
  EXPECT_EQ(ask("SELECT id, device, name, kind, shape, storage_bytes, time_us, allocation_id, "
                "is_main FROM tensors"),
            "0 1 head.weight parameter [16] 64 NULL 3 1; 1 1 head.bias parameter [16] 64 NULL 3 0; "
            "2 0 first.output activation [16] 64 5000002 0 1; 3 0 gone other [16] 64 NULL NULL 0");
  EXPECT_EQ(ask("SELECT id, tensor, category FROM allocations WHERE tensor IS NOT NULL"),
            "0 first.output logits; 3 head.weight parameters");
  EXPECT_EQ(ask("SELECT id FROM allocations WHERE tensor = 'head.weight'"), "3");
  EXPECT_EQ(ask("SELECT id FROM live_at(0, 2) WHERE tensor LIKE '%output%'"), "0");
}

TEST_F(DatabaseTest, WorkedQuestionsHaveAnswers) {
  EXPECT_EQ(workedQuestions().size(), 15U);
  for (const Question& question : workedQuestions()) {
    auto result = database_.run(question.sql, {});
    ASSERT_TRUE(result.ok()) << question.title << ": " << result.error().what;
    // Nothing grows in the example, and nothing was launched.
    bool has_rows = question.sql.find("growth(0)") == std::string::npos &&
                    !question.title.ends_with("(recordings)");
    EXPECT_EQ(result.value().rows.size() > 0, has_rows) << question.title;
  }
}

TEST(SqlDocs, AreUpToDate) {
  const char* source = std::getenv("TIDEGAUGE_SOURCE_DIR");
  if (source == nullptr) GTEST_SKIP() << "TIDEGAUGE_SOURCE_DIR is not set; ctest sets it";
  analysis::AnalysedTrace nothing{model::Trace()};
  for (const Docs& docs : allDocs()) {
    std::ifstream file(fmt::format("{}/docs/use/{}.md", source, docs.name));
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_EQ(text.str(), docs.write(Database(nothing).schema())) << fmt::format(
        "write it again: tidegauge query --print-docs {0} > docs/use/{0}.md", docs.name);
  }
}

}  // namespace
}  // namespace tidegauge::query
