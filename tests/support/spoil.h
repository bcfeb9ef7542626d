// Changes the tables of a recording as an attacker might: cells, rows, types, whole tables.
//
//   spoil("run.tgr", choices);      the same choices, the same file
//
// Two bytes or more of `choices` per change; used by recording_rows_fuzz and by the tests of the
// readers.
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tidegauge::testing {

class Spoiler {
 public:
  Spoiler(sqlite3* db, std::span<const uint8_t> choices) : db_(db), choices_(choices) {}

  void run() {
    run("BEGIN");
    for (const char* view :
         {"call_log", "failed_calls", "stack_lines", "driver_blocks", "launch_counts", "copy_sums"})
      run(std::string("DROP VIEW IF EXISTS ") + view);
    while (next_ < choices_.size()) change();
    run("COMMIT");
  }

 private:
  struct Columns {
    const char* table;
    std::string_view names;  // separated by blanks
  };
  static constexpr std::array<Columns, 14> kTables = {
      {{"calls",
        "call_id start_ns end_ns process_id thread function_id address size_bytes handle stream "
        "offset device code stack_id inner in_runtime"},
       {"calls", "address size_bytes handle offset inner function_id"},
       {"functions", "function_id name plane verb kind"},
       {"processes", "process_id pid began_ns ended_ns exit_status name end_reason"},
       {"meta", "key value"},
       {"stack_frames", "stack_id place frame_id"},
       {"frames", "frame_id module_id offset function file line"},
       {"kernels", "kernel_id process_id handle name"},
       {"launches", "begin_ns end_ns process_id kernel_id function_id grid_x count"},
       {"copies",
        "begin_ns end_ns process_id direction submitted count size_bytes host_ns failures"},
       {"losses", "time_ns reason count"},
       {"unwatched", "begin_ns end_ns process_id pid library function figures reason"},
       {"devices", "device name uuid total_bytes"},
       {"device_memory", "time_ns device pid used_bytes"}}};
  static constexpr std::array<std::string_view, 40> kValues = {"0",
                                                               "1",
                                                               "-1",
                                                               "2",
                                                               "7",
                                                               "255",
                                                               "256",
                                                               "4096",
                                                               "65536",
                                                               "1 << 31",
                                                               "1 << 32",
                                                               "(1 << 32) - 1",
                                                               "1 << 50",
                                                               "(1 << 50) + 1",
                                                               "1 << 60",
                                                               "1 << 62",
                                                               "9223372036854775807",
                                                               "-9223372036854775807 - 1",
                                                               "NULL",
                                                               "1.5",
                                                               "x'ff00'",
                                                               "''",
                                                               "'driver'",
                                                               "'runtime'",
                                                               "'framework'",
                                                               "'allocate'",
                                                               "'free'",
                                                               "'map'",
                                                               "'unmap'",
                                                               "'retain'",
                                                               "'reset'",
                                                               "'device'",
                                                               "'pool'",
                                                               "'pool itself'",
                                                               "'physical'",
                                                               "'block'",
                                                               "'context'",
                                                               "'alias'",
                                                               "'graph'",
                                                               "zeroblob(70000)"};

  uint8_t next() { return next_ < choices_.size() ? choices_[next_++] : uint8_t{0}; }

  void run(const std::string& sql) {  // changes that the file forbids are skipped
    sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  }

  static std::string columnOf(const Columns& table, size_t number) {
    std::string_view rest = table.names;
    size_t count = 1;
    for (char c : rest) count += c == ' ';
    for (number %= count; number > 0; --number) rest.remove_prefix(rest.find(' ') + 1);
    return '"' + std::string(rest.substr(0, rest.find(' '))) + '"';
  }

  // Which rows: of those in order of their first column, each `step`th.
  std::string where(const Columns& table) {
    uint8_t which = next();
    std::string first = columnOf(table, 0);
    if (which % 4 == 0) return "";
    return " WHERE abs(" + first + ") % " + std::to_string(1 + which % 16) + " = " +
           std::to_string(which / 16 % (1 + which % 16));
  }

  void change() {
    uint8_t what = next();
    const Columns& table = kTables[next() % kTables.size()];
    std::string name = table.table, column = columnOf(table, next());
    std::string value(kValues[next() % kValues.size()]);
    if (what < 130) {
      run("UPDATE OR IGNORE " + name + " SET " + column + " = " + value + where(table));
    } else if (what < 160) {
      run("UPDATE OR IGNORE " + name + " SET " + column + " = " + columnOf(table, next()) +
          where(table));
    } else if (what < 180) {
      run("UPDATE OR IGNORE " + name + " SET " + column + " = " + column + " + (" + value + ")" +
          where(table));
    } else if (what < 195) {
      run("DELETE FROM " + name + where(table));
    } else if (what < 215) {  // a table without types and keys takes anything
      run("CREATE TABLE loose AS SELECT * FROM " + name + "; DROP TABLE " + name +
          "; ALTER TABLE loose RENAME TO " + name);
    } else if (what < 225) {
      run("INSERT INTO " + name + " SELECT * FROM " + name + where(table));
    } else if (what < 245) {
      constexpr std::array<const char*, 3> kKeys = {"carried_calls", "part", "continues"};
      std::string key = kKeys[next() % kKeys.size()];
      run("INSERT OR REPLACE INTO meta VALUES ('" + key + "', " + std::to_string(next()) + ")");
    } else if (what < 250) {
      run("DROP TABLE " + name);
    } else {
      run("ALTER TABLE " + name + " RENAME COLUMN " + column + " TO other");
    }
  }

  sqlite3* db_;
  std::span<const uint8_t> choices_;
  size_t next_ = 0;
};

inline void spoil(const std::string& path, std::span<const uint8_t> choices) {
  sqlite3* db = nullptr;
  if (sqlite3_open(path.c_str(), &db) == SQLITE_OK) Spoiler(db, choices).run();
  sqlite3_close(db);
}

}  // namespace tidegauge::testing
