// The tables of a recording by SQL: what SQLite itself reads from the file is the truth.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "query/database.h"
#include "readers/recording/open_recording.h"
#include "support/trace_builder.h"
#include "support/worked_recording.h"

namespace tidegauge::query {
namespace {

using testing::RecordingFile;

using Rows = std::vector<std::vector<std::string>>;

// The header line, then the rows; NULL is "-".
Rows bySqlite(const std::string& path, const std::string& sql) {
  Rows rows;
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
      << sqlite3_errmsg(db);
  int columns = sqlite3_column_count(statement);
  rows.emplace_back();
  for (int i = 0; i < columns; ++i) rows[0].emplace_back(sqlite3_column_name(statement, i));
  while (sqlite3_step(statement) == SQLITE_ROW) {
    rows.emplace_back();
    for (int i = 0; i < columns; ++i) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
      rows.back().emplace_back(text == nullptr ? "-" : text);
    }
  }
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return rows;
}

Rows byQuery(const Database& database, const std::string& sql) {
  auto result = database.run(sql, {});
  EXPECT_TRUE(result.ok()) << sql << ": " << result.error().what;
  Rows rows;
  if (!result.ok()) return rows;
  rows.emplace_back();
  for (const QueryColumn& column : result.value().columns) rows[0].push_back(column.name);
  for (const auto& cells : result.value().rows) {
    rows.emplace_back();
    for (const Cell& cell : cells) {
      if (const auto* number = std::get_if<int64_t>(&cell)) {
        rows.back().push_back(std::to_string(*number));
      } else if (const auto* text = std::get_if<std::string>(&cell)) {
        rows.back().push_back(*text);
      } else {
        rows.back().emplace_back("-");
      }
    }
  }
  return rows;
}

class RecordedTables : public ::testing::Test {
 protected:
  RecordedTables() {
    testing::addWork(file_);
    testing::addDeviceTimes(file_);
    auto traces = readers::recording::openRecording(file_.path(), {});
    EXPECT_TRUE(traces.ok());
    for (model::Trace& trace : traces.value()) {
      traces_.push_back(std::make_unique<analysis::AnalysedTrace>(std::move(trace)));
    }
  }
  RecordingFile file_;
  std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces_;
};

TEST_F(RecordedTables, AreThoseOfTheFile) {
  ASSERT_EQ(traces_.size(), 3U);  // pid 43 only launched, but has a trace
  for (const auto& trace : traces_) {
    Database database(*trace);
    std::string mine = std::to_string(trace->trace.work->process_id);
    // A kernel without a name is named by its handle.
    const std::string named = "coalesce(name, printf('kernel at 0x%x (no name)', handle))";
    for (std::string table : {"kernels", "launches", "copies"}) {
      std::string columns = "*";
      if (table == "kernels")
        columns = "kernel_id, process_id, handle, " + named + " AS name, parameters";
      if (table == "launches")
        columns += ", (SELECT " + named +
                   " FROM kernels k WHERE k.kernel_id = launches.kernel_id AND k.process_id = "
                   "launches.process_id) AS kernel";
      if (table == "copies")
        columns =
            "begin_ns, end_ns, process_id, direction, function_id, submitted, count, size_bytes, "
            "host_ns, CASE WHEN NOT submitted AND direction IN ('host to device', 'device to "
            "host') THEN host_ns END AS transfer_ns, failures";
      std::string sql = "SELECT " + columns + " FROM " + table + " WHERE process_id = " + mine;
      EXPECT_EQ(byQuery(database, "SELECT * FROM " + table), bySqlite(file_.path(), sql)) << sql;
    }
    for (std::string table : {"functions", "losses"}) {
      std::string sql = "SELECT * FROM " + table;
      EXPECT_EQ(byQuery(database, sql), bySqlite(file_.path(), sql)) << sql;
    }
    std::string columns =
        "SELECT process_id, pid, parent_pid, name, command, cgroup, began_ns, ended_ns, "
        "exit_status, end_reason, began_ns AS watched_from_ns, ended_ns AS watched_to_ns, "
        "0 AS ran_before";  // since the file does not contain its beginning and end
    EXPECT_EQ(
        byQuery(database, "SELECT * FROM processes"),
        bySqlite(file_.path(), columns + ", process_id = " + mine + " AS is_this FROM processes"));
  }
}

TEST_F(RecordedTables, ContainHoldingsAndRefusals) {
  Database database(*traces_[0]);
  EXPECT_EQ(byQuery(database, "SELECT kind, memory, device, bytes, count, label FROM held_at_end"),
            (Rows{{"kind", "memory", "device", "bytes", "count", "label"},
                  {"device", "device", "0", "1048576", "1", "model.py:3 f3"}}));
  EXPECT_EQ(byQuery(database, "SELECT count(*) AS n FROM refused")[1][0], "0");
  RecordingFile file;
  testing::CallStream calls;
  for (int i = 0; i < 3; ++i)
    calls.allocate(model::MemoryKind::kDevice, 0, 5000).device(1).stack(2).code(2);
  calls.free(model::MemoryKind::kDevice, 0x10).code(77);
  file.write(calls.all());
  auto refused = readers::recording::openRecording(file.path(), {});
  ASSERT_TRUE(refused.ok());
  analysis::AnalysedTrace trace(std::move(refused.value()[0]));
  Database second(trace);
  EXPECT_EQ(
      byQuery(second, "SELECT function, code, meaning, size_bytes, label, count FROM refused"),
      (Rows{{"function", "code", "meaning", "size_bytes", "label", "count"},
            {"driver_allocate_device", "2", "out of memory", "5000", "model.py:2 f2", "3"},
            {"driver_free_device", "77", "-", "0", "-", "1"}}));
}

TEST_F(RecordedTables, AnswerJoinsAndFiltersAsSqliteDoes) {
  Database database(*traces_[0]);
  for (std::string sql :
       {"SELECT k.handle, sum(l.count) AS n FROM launches AS l LEFT JOIN kernels AS k USING "
        "(kernel_id) WHERE l.process_id = 0 GROUP BY 1 ORDER BY n DESC, 1",
        "SELECT name FROM kernels WHERE name LIKE 'sg%'",
        "SELECT count(*) FROM kernels WHERE handle = 3567",
        "SELECT f.name, c.submitted, sum(c.size_bytes) AS n FROM copies AS c JOIN functions AS f "
        "USING (function_id) GROUP BY 1, 2 ORDER BY 1",
        "SELECT start_ns, end_ns, kind, direction, device, context, stream, size_bytes, "
        "correlation FROM device_activities WHERE end_ns > 2000 ORDER BY start_ns",
        "SELECT time_ns, process_id, pid, outcome, reason, library, version, clock_error_ns FROM "
        "device_programs ORDER BY pid",
        "SELECT pid FROM processes WHERE name = 'it''s' AND end_reason = 'exit'",
        "SELECT reason, count FROM losses WHERE count > 5"}) {
    EXPECT_EQ(byQuery(database, sql), bySqlite(file_.path(), sql)) << sql;
  }
}

TEST_F(RecordedTables, WorkedQuestionsAnswer) {
  Database database(*traces_[0]);
  size_t asked = 0;
  for (const Question& question : workedQuestions()) {
    if (!question.title.ends_with("(recordings)")) continue;
    auto result = database.run(question.sql, {});
    ASSERT_TRUE(result.ok()) << question.title << ": " << result.error().what;
    EXPECT_GT(result.value().rows.size(), 0U) << question.title;
    ++asked;
  }
  EXPECT_EQ(asked, 2U);
}

analysis::WholeRecordings wholesOf(
    const std::vector<std::unique_ptr<analysis::AnalysedTrace>>& traces) {
  std::vector<const analysis::AnalysedTrace*> all;
  for (const auto& trace : traces) all.push_back(trace.get());
  return analysis::wholeRecordings(all);
}

// The rows for each process alone, compared with plain SQL on the file.
TEST_F(RecordedTables, ContainAllProcessesForEachOfThem) {
  analysis::WholeRecordings wholes = wholesOf(traces_);
  ASSERT_EQ(wholes.size(), 1U);
  const std::string kSums =
      "SELECT p.process_id, p.pid, p.name, p.command, p.began_ns, p.ended_ns, "
      "p.exit_status, p.end_reason, coalesce((SELECT sum(count) FROM launches l WHERE "
      "l.process_id = p.process_id), 0) AS launches, coalesce((SELECT sum(count) "
      "FROM copies c WHERE c.process_id = p.process_id), 0) AS copies, coalesce((SELECT "
      "sum(size_bytes) FROM copies c WHERE c.process_id = p.process_id), 0) AS "
      "copied_bytes, coalesce((SELECT sum(failures) FROM copies c WHERE c.process_id "
      "= p.process_id), 0) AS copy_failures FROM processes p ORDER BY p.process_id";
  for (const auto& trace : traces_) {
    Database database(*trace, {}, analysis::wholeOf(wholes, *trace));
    EXPECT_EQ(
        byQuery(
            database,
            "SELECT process_id, pid, name, command, began_ns, ended_ns, exit_status, end_reason, "
            "launches, copies, copied_bytes, copy_failures FROM all_processes ORDER BY process_id"),
        bySqlite(file_.path(), kSums));
    EXPECT_EQ(
        byQuery(database, "SELECT pid, kind, memory, bytes, count FROM all_held ORDER BY pid"),
        (Rows{{"pid", "kind", "memory", "bytes", "count"},
              {"41", "device", "device", "1048576", "1"},
              {"42", "device", "device", "2097152", "1"}}));
    std::string own = "(SELECT pid FROM processes WHERE is_this)";
    EXPECT_EQ(
        byQuery(database, "SELECT peak_bytes, live_bytes FROM all_processes WHERE pid = " + own)[1],
        byQuery(
            database,
            "SELECT coalesce(sum(peak_reserved_bytes), 0), coalesce(sum(final_reserved_bytes), 0) "
            "FROM devices WHERE device >= 0")[1]);
    EXPECT_EQ(byQuery(database, "SELECT incomplete FROM all_processes WHERE pid = 41")[1][0],
              "memory,blocks,call sites");
  }
}

TEST_F(RecordedTables, KnowWhatNeedsNoChoiceOfAProcess) {
  analysis::WholeRecordings wholes = wholesOf(traces_);
  Database database(*traces_[0], {}, analysis::wholeOf(wholes, *traces_[0]));
  for (const char* sql :
       {"SELECT * FROM all_processes", "SELECT count(*) FROM device_memory",
        "WITH a AS (SELECT pid FROM processes) SELECT count(*) FROM a JOIN all_held USING (pid)"}) {
    EXPECT_TRUE(database.asksWholeRecording(sql).value()) << sql;
  }
  for (const char* sql :
       {"SELECT * FROM events", "SELECT * FROM processes WHERE is_this", "SELECT 1",
        "SELECT pid, (SELECT count(*) FROM launches) FROM all_processes",
        "SELECT stack_text(pid) FROM all_processes",
        "SELECT * FROM all_processes JOIN holders(0, 0)"}) {
    EXPECT_FALSE(database.asksWholeRecording(sql).value()) << sql;
  }
  for (const char* sql : {"SELECT", "SELECT nothing FROM events", "DELETE FROM events"})
    EXPECT_FALSE(database.asksWholeRecording(sql).ok()) << sql;
}

TEST_F(RecordedTables, ContainTheDriversFigures) {
  store::RecordingWriter& writer = file_.writer();
  ASSERT_TRUE(writer.addDevice({0, "H100", "GPU-1", uint64_t{80} << 30}).ok());
  ASSERT_TRUE(writer.addDeviceMemory({5 * testing::kSecond_ns, 0, 41, 9 << 20}).ok());
  ASSERT_TRUE(writer.addDeviceMemory({5 * testing::kSecond_ns, 0, {}, 10 << 20}).ok());
  ASSERT_TRUE(writer.commit().ok());
  std::vector<std::unique_ptr<analysis::AnalysedTrace>> traces;
  auto read = readers::recording::openRecording(file_.path(), {});
  ASSERT_TRUE(read.ok());
  for (model::Trace& trace : read.value())
    traces.push_back(std::make_unique<analysis::AnalysedTrace>(std::move(trace)));
  analysis::WholeRecordings wholes = wholesOf(traces);
  // --device is CUDA's number, and does not restrict the driver's own devices.
  Scope scope;
  scope.device = 7;
  Database database(*traces[0], scope, analysis::wholeOf(wholes, *traces[0]));
  std::string memory = "SELECT * FROM device_memory ORDER BY time_ns, device, pid";
  EXPECT_EQ(byQuery(database, memory), bySqlite(file_.path(), memory));
  std::string columns = "SELECT device, name, uuid, total_bytes, pcie_generation, pcie_lanes FROM ";
  EXPECT_EQ(byQuery(database, columns + "gpus"), bySqlite(file_.path(), columns + "devices"));
  EXPECT_EQ(byQuery(database, "SELECT device, link_bytes_per_second FROM gpus"),
            (Rows{{"device", "link_bytes_per_second"}, {"0", "-"}, {"1", "63015384615"}}));
  EXPECT_EQ(byQuery(database,
                    "SELECT pid, used_bytes, recorded_bytes, untracked_bytes FROM gpu_processes"),
            (Rows{{"pid", "used_bytes", "recorded_bytes", "untracked_bytes"},
                  {"41", "9437184", "1048576", "8388608"}}));
}

TEST(LaunchEvents, HaveTheirKernelStackAndArguments) {
  RecordingFile file;
  store::RecordingWriter& writer = file.writer();
  testing::CallStream calls;
  calls.allocate(model::MemoryKind::kDevice, 0x1000, 1 << 20).device(0).stack(3).process(0);
  file.add(calls.all());
  uint16_t function =
      writer.addFunction({"cudaLaunchKernel", model::Plane::kRuntime, {}, {}}).value();
  uint32_t axpy = writer.addKernel(0, 0xabc, "axpy").value();
  ASSERT_TRUE(writer.setKernelParameters(axpy, "0:4 4:4 8:8 16:3").ok());
  uint32_t other = writer.addKernel(0, 0xdef, "other").value();
  auto launch = [&](int64_t time_ns, uint32_t kernel, std::vector<uint8_t> arguments,
                    std::optional<uint32_t> parameters) {
    store::LaunchEventRow row;
    row.launch.begin_ns = time_ns;
    row.launch.kernel = kernel;
    row.launch.function = function;
    row.launch.grid = {2, 3, 4};
    row.launch.block = {32, 2, 1};
    row.thread = 41;
    row.shared_bytes = 128;
    row.stream = 0x700;
    row.device = time_ns == 10 ? 1 : -1;
    row.stack = time_ns == 10 ? file.stackOf(4) : model::kNoStackOfCall;
    row.arguments = arguments;
    row.parameters = parameters;
    EXPECT_TRUE(writer.addLaunchEvent(row).ok());
  };
  launch(10, axpy, {10, 0, 0, 0, 0, 0, 0x80, 0x3f, 0, 0x10, 0, 0, 0, 0x7f, 0, 0, 1, 2, 3}, 4);
  launch(30, other, {7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0}, {});
  launch(20, other, {}, {});
  ASSERT_TRUE(writer.commit().ok());
  auto opened = readers::recording::openRecording(file.path(), {});
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  analysis::AnalysedTrace trace(std::move(opened.value()[0]));
  Database database(trace);
  EXPECT_EQ(
      byQuery(database,
              "SELECT time_ns, kernel, thread, grid_z, block_x, shared_bytes, stream, device, "
              "parameters, arguments FROM launch_events ORDER BY time_ns"),
      (Rows{{"time_ns", "kernel", "thread", "grid_z", "block_x", "shared_bytes", "stream", "device",
             "parameters", "arguments"},
            {"10", "axpy", "41", "4", "32", "128", "1792", "1", "0:4 4:4 8:8 16:3",
             "0xa 0x3f800000 0x7f0000001000 x'010203'"},
            {"20", "other", "41", "4", "32", "128", "1792", "-", "-", "-"},
            {"30", "other", "41", "4", "32", "128", "1792", "-", "unknown", "0x7 0x9"}}));
  EXPECT_EQ(
      byQuery(database, "SELECT s.label FROM launch_events l JOIN stacks s ON s.id = l.stack_id"),
      (Rows{{"label"}, {"model.py:4 f4"}}));
}

// As recorders wrote them before kernels had parameters.
TEST(LaunchEvents, OfOlderRecordingsAreWords) {
  RecordingFile file;
  testing::CallStream calls;
  calls.allocate(model::MemoryKind::kDevice, 0x1000, 1 << 20).device(0).process(0);
  file.add(calls.all());
  ASSERT_TRUE(file.writer().addKernel(0, 0xabc, "axpy").ok());
  file.finish();
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file.path().c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db,
                         "ALTER TABLE kernels DROP COLUMN parameters;"
                         "ALTER TABLE launch_events DROP COLUMN parameters;"
                         "INSERT INTO launch_events VALUES (5, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, "
                         "NULL, NULL, x'0a00000000000000')",
                         nullptr, nullptr, nullptr),
            SQLITE_OK)
      << sqlite3_errmsg(db);
  sqlite3_close(db);
  auto opened = readers::recording::openRecording(file.path(), {});
  ASSERT_TRUE(opened.ok()) << opened.error().what;
  EXPECT_TRUE(opened.value()[0].issues.all().empty());
  analysis::AnalysedTrace trace(std::move(opened.value()[0]));
  Database database(trace);
  EXPECT_EQ(byQuery(database, "SELECT kernel, parameters, arguments FROM launch_events"),
            (Rows{{"kernel", "parameters", "arguments"}, {"axpy", "unknown", "0xa"}}));
}

TEST(RecordedTablesOfSnapshots, AreThereAndEmpty) {
  testing::TraceBuilder b;
  b.segmentAlloc(0x7f0000000000, 1 << 20);
  analysis::AnalysedTrace trace(b.build());
  Database database(trace);
  for (const char* table :
       {"kernels", "launches", "copies", "processes", "functions", "losses", "unwatched",
        "incomplete", "all_processes", "all_held", "part", "gpus", "gpu_processes", "device_memory",
        "launch_events", "device_activities", "device_programs", "unrecorded"}) {
    EXPECT_EQ(byQuery(database, std::string("SELECT * FROM ") + table).size(), 1U) << table;
  }
}

}  // namespace
}  // namespace tidegauge::query
