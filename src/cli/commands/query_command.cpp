#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <optional>

#include "base/format.h"
#include "base/text_layout.h"
#include "cli/commands.h"
#include "cli/commands/pick_process.h"
#include "cli/commands/query_output.h"
#include "cli/open_trace.h"
#include "cli/options/category_options.h"
#include "cli/options/output.h"
#include "cli/options/selection_options.h"
#include "cli/options/terminal.h"
#include "cli/options/usage.h"
#include "model/recorded_work.h"
#include "query/docs.h"
#include "report/words/incomplete_words.h"

namespace tidegauge::cli {
namespace {

constexpr char kUsageHint[] = "Write `tidegauge query FILE \"SELECT …\"`";
constexpr uint64_t kTableRows = 1000;  // a table is for reading; CSV and JSON have no limit

struct QueryOptions {
  std::string file;
  std::string sql;
  std::string format = "table";
  std::optional<uint64_t> limit;
  double timeout_s = 60;
  std::optional<size_t> pick;
  std::optional<uint32_t> pid{};
  report::Selection selection;
  std::string categories;
  std::string print_docs;
};

constexpr std::pair<const char*, QueryFormat> kFormats[] = {
    {"table", QueryFormat::kTable}, {"csv", QueryFormat::kCsv}, {"json", QueryFormat::kJson}};

QueryFormat formatOf(const std::string& name) {
  for (const auto& [known, format] : kFormats) {
    if (name == known) return format;
  }
  return QueryFormat::kTable;
}

// The line of SQL with the error, cut to fit, and a mark below the position.
void showPlace(const std::string& sql, uint64_t offset) {
  if (offset > sql.size()) return;
  size_t begin = sql.rfind('\n', offset == 0 ? 0 : offset - 1);
  begin = begin == std::string::npos || begin >= offset ? 0 : begin + 1;
  size_t end = std::min(sql.find('\n', offset), sql.size());
  std::string before = base::printable(std::string_view(sql).substr(begin, offset - begin));
  std::string after = base::printable(std::string_view(sql).substr(offset, end - offset));
  before = base::cutFront(before, 60);
  complain(fmt::format("  {}{}\n  {:{}}^", before, base::cutTo(after, 30), "",
                       base::displayWidth(before)));
}

int reportQueryError(const base::Error& error, const std::string& sql) {
  complain("tidegauge: " + base::cutTo(base::printable(error.what), 300));
  if (error.byte_offset) showPlace(sql, *error.byte_offset);
  if (!error.hint.empty()) {
    std::string hint = base::wrapped(base::printable(error.hint), 100, 0);
    hint.pop_back();
    complain(hint);
  }
  return 2;
}

// The scope of --device, --from and --to.
base::Result<query::Scope> scopeOf(const analysis::AnalysedTrace& trace,
                                   const report::Selection& selection) {
  query::Scope scope;
  if (selection.device) scope.device = *selection.device;
  TG_ASSIGN_OR_RETURN(report::Choice choice, report::choose(trace, selection));
  if (!selection.isRange()) return scope;
  if (choice.devices.size() != 1) {
    return base::Error{base::ErrorKind::kUsage,
                       "--from and --to need one device, because every device counts its own steps",
                       {},
                       "Add --device N."};
  }
  const report::Chosen& chosen = choice.devices.front();
  sayChoice(choice);
  scope.device = chosen.device->device.ordinal;
  scope.first_step = chosen.range->first;
  scope.last_step = chosen.range->last;
  return scope;
}

// Facts that the rows do not contain. The time before a process was watched is not a gap.
void sayIncomplete(const model::Trace& trace) {
  if (trace.work == nullptr) return;
  model::Incomplete gaps = model::gapsOf(*trace.work);
  if (!gaps.any()) return;
  report::Sentence finding = report::incompleteSentence(gaps);
  complain(base::printable(report::plainText(finding.parts) + ": " + finding.sql));
}

int ask(const analysis::AnalysedTrace& trace, const query::Whole& whole,
        const QueryOptions& options) {
  base::Result<query::Scope> scope = scopeOf(trace, options.selection);
  if (!scope.ok()) return reportError(scope.error());
  query::Database database(trace, scope.value(), whole);
  Output out;
  if (options.sql.empty()) {
    printSchema(database.schema(), terminalColumns(), out);
    return out.finish(0);
  }
  QueryFormat format = formatOf(options.format);
  query::QueryLimits limits;
  bool table = format == QueryFormat::kTable;
  limits.rows = options.limit.value_or(table ? kTableRows : UINT64_MAX);
  limits.bytes = table ? limits.bytes : UINT64_MAX;  // only the table stores its rows
  limits.milliseconds = static_cast<uint64_t>(options.timeout_s * 1000);
  limits.stop = out.stop();
  auto writer = makeQueryWriter({format, terminalColumns()}, out);
  auto summary = database.stream(options.sql, limits, *writer);
  if (out.failed()) return out.finish(0);
  if (!summary.ok()) {
    int exit_code = reportQueryError(summary.error(), options.sql);
    return out.finish(exit_code);
  }
  writer->finish();
  int exit_code = out.finish(0);
  sayIncomplete(trace.trace);
  if (summary.value().truncated && exit_code == 0) {
    complain(fmt::format("Only the first {} are shown; --limit N shows more.",
                         base::counted(summary.value().rows, "row")));
  }
  return exit_code;
}

// A zip or a page may contain several snapshots, a recording several processes. Null if there is no
// trace to query; the reason was printed.
const analysis::AnalysedTrace* pickTrace(const Traces& traces,
                                         const analysis::WholeRecordings& wholes,
                                         const QueryOptions& options) {
  size_t pick = options.pick.value_or(1);
  if (!options.pick && traces.size() > 1 && !options.sql.empty()) {
    query::Database any(*traces[0], {}, analysis::wholeOf(wholes, *traces[0]));
    base::Result<bool> whole = any.asksWholeRecording(options.sql);
    if (!whole.ok()) {  // no choice would help
      reportQueryError(whole.error(), options.sql);
      return nullptr;
    }
    // Tables that are the same for each process need no choice.
    if (whole.value() && traces[0]->trace.work) return traces[0].get();
  }
  bool is_clear = options.pick || traces.size() == 1;
  if (is_clear && pick <= traces.size()) return traces[pick - 1].get();
  std::string file = shownPath(options.file);
  const char* one = traces[0]->trace.work ? "process" : "snapshot";
  if (traces.size() == 1) {
    usageError(fmt::format("{} contains only one {}, so --pick {} does not exist", file, one, pick),
               "Omit --pick");
    return nullptr;
  }
  usageError(fmt::format("{} contains {} {}{}", file, traces.size(), one,
                         traces[0]->trace.work ? "es" : "s"),
             fmt::format("Choose one with {}--pick N, from 1 to {}",
                         traces[0]->trace.work ? "--pid PID, or " : "", traces.size()));
  for (size_t i = 0; i < traces.size(); ++i) {
    complain(fmt::format("  {} {}", i + 1, base::printable(traces[i]->trace.source.name)));
  }
  return nullptr;
}

// Lives take a third of the time. What tables SQL reads is known before the file is: all files have
// the same. Invalid SQL is reported when the file is open.
bool needsLives(const QueryOptions& options) {
  const report::Selection& selection = options.selection;
  if (options.sql.empty() || selection.device || selection.isRange() || options.pid) return true;
  analysis::AnalysedTrace nothing{model::Trace()};
  base::Result<bool> is_enough = query::Database(nothing).readsEventsAlone(options.sql);
  return !is_enough.ok() || !is_enough.value();
}

int run(QueryOptions options) {
  for (const query::Docs& docs : query::allDocs()) {
    if (docs.name != options.print_docs) continue;
    analysis::AnalysedTrace nothing{model::Trace()};
    Output out;
    out.write(docs.write(query::Database(nothing).schema()));
    return out.finish(0);
  }
  if (options.file.empty()) return usageError("FILE is missing", kUsageHint);
  if (options.sql == "-") {
    if (options.file == "-") return usageError("standard input cannot be both FILE and SQL");
    constexpr size_t kMaxSqlBytes = 1 << 20;
    options.sql.resize(kMaxSqlBytes + 1);
    std::cin.read(options.sql.data(), static_cast<std::streamsize>(options.sql.size()));
    options.sql.resize(static_cast<size_t>(std::cin.gcount()));
    if (options.sql.empty()) return usageError("standard input contains no SQL");
    if (options.sql.size() > kMaxSqlBytes) return usageError("the SQL is longer than 1 MiB");
  }
  auto rules = readRules(options.categories);
  if (!rules.ok()) return reportError(rules.error());
  Opened opened =
      openTraces({options.file}, {.rules = rules.value(), .lives = needsLives(options)});
  if (opened.traces.empty()) return opened.exit_code;
  std::vector<const analysis::AnalysedTrace*> all;
  for (const auto& trace : opened.traces) all.push_back(trace.get());
  analysis::WholeRecordings wholes = analysis::wholeRecordings(all);
  if (options.pid) {
    base::Status kept = keepProcess(opened.traces, *options.pid);
    if (!kept.ok()) return reportError(kept.error());
  }
  const analysis::AnalysedTrace* trace = pickTrace(opened.traces, wholes, options);
  if (trace == nullptr) return 2;
  int exit_code = ask(*trace, analysis::wholeOf(wholes, *trace), options);
  return exit_code != 0 ? exit_code : opened.exit_code;
}

}  // namespace

void addQueryCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<QueryOptions>();
  CLI::App* command =
      app.add_subcommand("query", "Run SQL on a snapshot or recording, or list its tables");
  command
      ->add_option("FILE", options->file,
                   "Snapshot or recording; - reads a snapshot from standard input")
      ->type_name("");
  command->add_option("SQL", options->sql, "One SELECT statement; - reads it from standard input")
      ->type_name("");
  command->add_option("--format", options->format, "table, csv or json")
      ->check(oneOf({"table", "csv", "json"}))
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--limit", options->limit,
                   "Maximum number of rows (default: 1000 for table, all for csv and json)")
      ->check(wholeNumber(1, UINT64_MAX))
      ->type_name("N");
  command->add_option("--timeout", options->timeout_s, "Stop after this many seconds")
      ->check(number(0.001, 1e6))
      ->type_name("SECONDS")
      ->capture_default_str();
  command
      ->add_option("--pick", options->pick,
                   "Select one entry if FILE contains several snapshots or processes")
      ->check(wholeNumber(1, UINT32_MAX))
      ->type_name("N");
  addPidOption(*command, options->pid);
  addSelectionOptions(*command, options->selection);
  addCategoriesOption(*command, options->categories);
  std::vector<std::string> pages;
  for (const query::Docs& docs : query::allDocs()) pages.emplace_back(docs.name);
  command->add_option("--print-docs", options->print_docs)
      ->check(CLI::IsMember(pages))
      ->group("");  // writes docs/use/sql.md and similar pages
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace tidegauge::cli
