#include "query/docs.h"

#include <fmt/format.h>

namespace tidegauge::query {
namespace {

constexpr std::string_view kIntroduction =
    R"(# SQL: tables, functions and worked questions

`tidegauge query FILE "SELECT …"` and the page's SQL view use the same tables. They are read-only
views of the opened file. The SQL dialect is SQLite's.

* Sizes are in bytes, times in µs since the epoch. NULL means unknown.
* `step` is the index of an event within its device, from 0. The state *at step s* is the state
  after event s. A row with `first_step` and `last_step` exists after step s if
  `first_step <= s AND s < last_step`.
* Columns ending in `_id` refer to the `id` of the table they name.
* These conditions are fast: comparisons of numbers, `=`, `<>` and `IN` on names, `LIKE '%text%'`. So
  are `ORDER BY` and `GROUP BY`. `EXPLAIN QUERY PLAN SELECT …` shows which of them a query uses.
* Fastest are aggregates of one table: `count`, `sum`, `total`, `avg`, `min` and `max` of columns, with
  such conditions joined by `AND`, and with `GROUP BY` of columns. Ten million events take less than
  0.1 s. `HAVING`, `ORDER BY`, `LIMIT` and expressions with the results cost nothing more.
* SQLite's integers are signed, so addresses from 2^63 on are negative. `hex_address(address)` shows
  every address as "0x7f0586000000". The page's server returns integers beyond ±2^53 as text,
  because a browser would round them.
* An argument of the wrong type, a device that does not exist, and a step below −1 are errors. If an
  argument is NULL, the result is empty or NULL. A step after the end means the last step.
* `tidegauge query --device N` keeps only the rows of that device. `--from` and `--to` keep only
  the events and totals of those steps, and the allocations, segments, pieces and annotations that
  overlap them. These options do not change `live_at`, `blocks_at` and the other functions, which
  have their own arguments.
* The page formats a column by the end of its name: `bytes`, `step` or `time_us`. Name sums
  accordingly: `sum(block_bytes) AS held_bytes`.

Limits:

* A query may run for 30 s in the page and for `--timeout` seconds (60) on the command line. Ctrl-C
  ends it, and so does leaving the page.
* A value has at most 1 MiB.
* `median` and `percentile` take 67 million values.
* `printf` and `format` accept widths of up to 1000.
* `trim` accepts up to 100 bytes of characters to remove.
* The text of a stack ends at 256 KiB with "… 12 more frames".

The tables of recordings (`all_processes`, `all_held`, `processes`, `functions`, `kernels`,
`launches`, `copies`, `device_activities`, `device_programs`, `refused`, `held_at_end`, `losses`,
`unwatched`, `incomplete`, `unrecorded`, `part`, `gpus`, `gpu_processes`, `device_memory`) are described
in [sql-recordings.md](sql-recordings.md).

)";

constexpr std::string_view kRecordings = R"(# SQL: tables of recordings

These tables have rows for recordings and are empty for snapshots. Tables and columns that the file
contains itself ([formats/recording.md](../formats/recording.md)) have the same names and units.
Times are in ns since the epoch.

A recording contains one trace per process. `kernels`, `launches`, `copies`, `device_activities`,
`refused`, `held_at_end` and `incomplete` have the rows of one process, the other tables those of all
processes. A query that uses only the other tables needs no `--pid`:
`tidegauge query run.sqlite "SELECT pid, name, human_bytes(peak_bytes) FROM all_processes"`.

The device numbers of `gpus` are NVML's and may differ from CUDA's. [sql.md](sql.md) describes
everything else.
)";

constexpr std::string_view kFunctions = R"(# SQL: columns of the functions that return tables

Example: `SELECT * FROM growth(0)`. [sql.md](sql.md) says what each function is for, and lists the
functions that return one value.
)";

// A cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

void addColumns(std::string& text, const std::vector<ColumnDoc>& columns) {
  text += "| column | kind | |\n|---|---|---|\n";
  for (const ColumnDoc& column : columns) {
    text += fmt::format("| {} | {} | {} |\n", column.name, name(column.kind), cell(column.doc));
  }
}

void addTables(std::string& text, const Schema& schema, bool of_recordings) {
  for (const TableDoc& table : schema.tables) {
    if (table.only_recordings != of_recordings) continue;
    text += fmt::format("\n### {}\n{}\n\n", table.name, table.doc);
    addColumns(text, table.columns);
  }
}

std::string mainPage(const Schema& schema) {
  std::string text(kIntroduction);
  text += "## Tables\n";
  addTables(text, schema, false);
  text += "\n## Functions\n\n| function | |\n|---|---|\n";
  for (const FunctionDoc& function : schema.functions) {
    text += fmt::format("| `{}` | {} |\n", function.signature, cell(function.doc));
  }
  text +=
      "\nAll functions of SQLite are available, too. [sql-functions.md](sql-functions.md) lists "
      "the "
      "columns of the functions that return a table.\n";
  text += "\n## Worked questions\n";
  for (const Question& question : schema.questions) {
    text += fmt::format("\n### {}\n```sql\n{}\n```\n", question.title, question.sql);
  }
  return text;
}

std::string recordingsPage(const Schema& schema) {
  std::string text(kRecordings);
  addTables(text, schema, true);
  return text;
}

std::string functionsPage(const Schema& schema) {
  std::string text(kFunctions);
  for (const FunctionDoc& function : schema.functions) {
    if (function.columns.empty()) continue;
    text += fmt::format("\n## {}\n\n", function.signature);
    addColumns(text, function.columns);
  }
  return text;
}

}  // namespace

const std::vector<Docs>& allDocs() {
  static const std::vector<Docs> all = {
      {"sql", mainPage}, {"sql-functions", functionsPage}, {"sql-recordings", recordingsPage}};
  return all;
}

}  // namespace tidegauge::query
