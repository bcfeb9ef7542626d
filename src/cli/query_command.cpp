#include "cli/query_command.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>

#include "base/format.h"
#include "base/text_layout.h"
#include "cli/open_trace.h"
#include "cli/query_output.h"

namespace tidegauge::cli {
namespace {

constexpr uint64_t kTableRows = 1000;  // a table is for eyes; CSV and JSON have no limit

struct QueryOptions {
  std::string file;
  std::string sql;
  QueryFormat format = QueryFormat::kTable;
  uint64_t limit = 0;
  bool limit_given = false;
  double timeout_s = 60;
  size_t pick = 0;
  bool print_docs = false;
};

// 0 if the output is no terminal.
size_t terminalColumns() {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 1) return 0;
  bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::max<size_t>(size.ws_col, 40) : 100;
}

// The line of SQL with the error, and a mark below the place.
void showPlace(const std::string& sql, uint64_t offset) {
  if (offset > sql.size()) return;
  size_t begin = sql.rfind('\n', offset == 0 ? 0 : offset - 1);
  begin = begin == std::string::npos || begin >= offset ? 0 : begin + 1;
  size_t end = std::min(sql.find('\n', offset), sql.size());
  std::string before = base::printable(std::string_view(sql).substr(begin, offset - begin));
  std::string after = base::printable(std::string_view(sql).substr(offset, end - offset));
  fmt::print(stderr, "  {}{}\n  {:{}}^\n", before, after, "", base::displayWidth(before));
}

int reportQueryError(const base::Error& error, const std::string& sql) {
  fmt::print(stderr, "tidegauge: {}\n", base::printable(error.what));
  if (error.byte_offset) showPlace(sql, *error.byte_offset);
  if (!error.hint.empty()) fmt::print(stderr, "{}", base::wrapped(error.hint, 100, 0));
  return 2;
}

int usageError(const std::string& what) {
  fmt::print(stderr, "tidegauge: {}\n", base::printable(what));
  return 2;
}

int ask(const analysis::AnalysedTrace& trace, const QueryOptions& options) {
  query::Database database(trace);
  if (options.sql.empty()) {
    printSchema(database.schema(), terminalColumns(), stdout);
    return 0;
  }
  query::QueryLimits limits;
  bool table = options.format == QueryFormat::kTable;
  limits.rows = options.limit_given ? options.limit : table ? kTableRows : UINT64_MAX;
  limits.bytes = table ? limits.bytes : UINT64_MAX;  // only the table keeps its rows
  limits.milliseconds = static_cast<uint64_t>(std::clamp(options.timeout_s, 0.001, 1e9) * 1000);
  auto writer = makeQueryWriter({options.format, terminalColumns()}, stdout);
  auto summary = database.stream(options.sql, limits, *writer);
  if (!summary.ok()) return reportQueryError(summary.error(), options.sql);
  writer->finish();
  if (summary.value().truncated) {
    std::fflush(stdout);
    fmt::print(stderr, "The first {} rows; there are more (--limit).\n",
               base::withCommas(summary.value().rows));
  }
  return 0;
}

// A zip or a page may hold several snapshots.
const analysis::AnalysedTrace* pickTrace(const Traces& traces, const QueryOptions& options) {
  if (traces.size() == 1 && options.pick <= 1) return traces[0].get();
  if (options.pick >= 1 && options.pick <= traces.size()) return traces[options.pick - 1].get();
  fmt::print(stderr, "tidegauge: {} holds {} snapshots; choose one with --pick N\n", options.file,
             traces.size());
  for (size_t i = 0; i < traces.size(); ++i) {
    fmt::print(stderr, "  {} {}\n", i + 1, base::printable(traces[i]->trace.source.name));
  }
  return nullptr;
}

int run(QueryOptions options) {
  if (options.print_docs) {
    analysis::AnalysedTrace nothing{model::Trace()};
    fmt::print("{}", query::markdown(query::Database(nothing).schema()));
    return 0;
  }
  if (options.file.empty()) return usageError("query needs a FILE");
  if (options.sql == "-") {
    if (options.file == "-")
      return usageError("standard input cannot be both the file and the SQL");
    options.sql.assign(std::istreambuf_iterator<char>(std::cin), {});
    if (options.sql.empty()) return usageError("there is no SQL on standard input");
  }
  base::Result<Traces> traces = openTraces({options.file});
  if (!traces.ok()) return reportError(traces.error());
  const analysis::AnalysedTrace* trace = pickTrace(traces.value(), options);
  return trace == nullptr ? 2 : ask(*trace, options);
}

}  // namespace

void addQueryCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<QueryOptions>();
  CLI::App* command =
      app.add_subcommand("query", "Ask a snapshot with SQL; without SQL: its tables and columns");
  command->add_option("FILE", options->file, "A snapshot; - reads standard input");
  command->add_option("SQL", options->sql, "One SELECT; - reads it from standard input");
  const std::map<std::string, QueryFormat> formats{
      {"table", QueryFormat::kTable}, {"csv", QueryFormat::kCsv}, {"json", QueryFormat::kJson}};
  command->add_option("--format", options->format, "table, csv or json")
      ->transform(CLI::CheckedTransformer(formats))
      ->default_str("table");
  CLI::Option* limit = command->add_option(
      "--limit", options->limit, "Rows at most (a table: 1000 if not given, csv and json: all)");
  command->add_option("--timeout", options->timeout_s, "Seconds at most")->capture_default_str();
  command->add_option("--pick", options->pick, "Which snapshot of a file that holds several");
  command->add_flag("--print-docs", options->print_docs)->group("");  // writes docs/sql.md
  command->callback([options, limit, &exit_code] {
    options->limit_given = limit->count() > 0;
    exit_code = run(*options);
  });
}

}  // namespace tidegauge::cli
