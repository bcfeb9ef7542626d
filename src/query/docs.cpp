#include "query/docs.h"

#include <fmt/format.h>

namespace tidegauge::query {
namespace {

constexpr std::string_view kIntroduction =
    R"(# SQL: tables, functions and worked questions

`tidegauge query FILE "SELECT …"` and the page's SQL view ask the same tables. They are read-only
views on the opened file; the SQL is SQLite's.

* Sizes are bytes, times are µs since the epoch. NULL = unknown.
* `step` = index of an event within its device's trace, from 0; the state *at step s* is the state
  after event s. Something with `first_step` and `last_step` is there after step s when
  `first_step <= s AND s < last_step`.
* Columns ending in `_id` refer to the `id` of the table they name.
* Equality and ranges on numbers, `=` and `IN` on names, `LIKE '%text%'`, `ORDER BY` and `GROUP BY`
  are answered from the columns themselves; `EXPLAIN QUERY PLAN SELECT …` shows which.
* An address is an integer with a sign, as all of SQLite's: addresses in the upper half are negative.
  `hex_address(address)` shows any of them as "0x7f0586000000". Integers beyond ±2^53 are text in the
  answers of the page's server, because a browser would round them.
* Arguments of the wrong kind, a device that is not there or a negative step are errors. NULL as an
  argument gives no rows or NULL; a step past the end is the last state.
* A query may run for 30 s in the page and for `--timeout` seconds (60) on the command line; closing
  the request or Ctrl-C ends it. A value holds 1 MiB at most, `median` and `percentile` keep 67 million
  values, `printf` and `format` take widths up to 1000, `trim` cuts off up to 100 bytes of characters.
  The text of a stack ends at 256 KiB with "… 12 more frames".
* `tidegauge query --device N` leaves the rows of that device; `--from` and `--to` leave the events and
  totals of those steps, and the allocations, segments, pieces and annotations that touch them.
  `live_at` and `blocks_at` name their place themselves.
* A column whose name ends in `bytes`, `step` or `time_us` is shown as one by the page; write
  `sum(block_bytes) AS held_bytes` to keep that.

The tables of recordings (`all_processes`, `all_held`, `processes`, `functions`, `kernels`, `launches`,
`copies`, `refused`, `held_at_end`, `losses`, `unwatched`, `incomplete`, `part`, `gpus`, `gpu_processes`,
`device_memory`) have a page of their own: [sql-recordings.md](sql-recordings.md).

)";

constexpr std::string_view kRecordings = R"(# SQL: tables of recordings

Filled for what `tidegauge record` wrote, empty for snapshots. They have the names and units of the
file's own tables ([formats/recording.md](../formats/recording.md)), where they are in it; times in ns since
the epoch. A recording has a trace per process: `kernels`, `launches`, `copies`, `refused`, `held_at_end`
and `incomplete` are those of its process, the others of all. SQL that asks only the others needs no
`--pid`: `tidegauge query run.sqlite "SELECT pid, name, human_bytes(peak_bytes) FROM all_processes"`.
What the driver calls a device (`gpus`) need not be CUDA's device of that number. Everything else is in
[sql.md](sql.md).
)";

constexpr std::string_view kFunctions = R"(# SQL: columns of the functions that return tables

`SELECT * FROM growth(0)`. What each is for, and the functions that return one value: [sql.md](sql.md).
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
      "\nAnd all of SQLite's own. The columns of those that return a table: "
      "[sql-functions.md](sql-functions.md).\n";
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
