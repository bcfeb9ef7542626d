#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "analysis/compare/diff.h"
#include "analysis/compare/diff_ranks.h"
#include "analysis/summary.h"
#include "base/format.h"
#include "base/text_layout.h"
#include "cli/commands.h"
#include "cli/commands/query_output.h"
#include "cli/open_trace.h"
#include "cli/options/category_options.h"
#include "cli/options/output.h"
#include "cli/options/terminal.h"
#include "cli/options/usage.h"
#include "report/diff/diff_json.h"
#include "report/diff/diff_limits.h"
#include "report/diff/diff_text.h"
#include "report/diff/ranks_text.h"
#include "report/words/file_names.h"

namespace tidegauge::cli {
namespace {

using analysis::AnalysedTrace;
using analysis::DiffSide;

constexpr char kDiffFooter[] =
    "Metrics of --fail-on, in bytes or % of A:\n"
    "  growth        growth of active bytes\n"
    "  reserved      growth of reserved bytes\n"
    "  new, gone     active bytes of new stacks, of gone stacks\n"
    "  change        the changes of all stacks, added up without their signs\n"
    "  stack         growth of the stack that grew most\n"
    "Terms:\n"
    "  active        bytes in live blocks\n"
    "  reserved      bytes that the allocator holds from the driver\n"
    "  new, gone     stacks that hold bytes in B only, in A only\n"
    "  distance      (ranks) difference to the median rank in bytes, summed over all stacks\n"
    "  outlier       (ranks) a rank much farther from the median than the others\n"
    "  a ‹ b         memory allocated at line a; b, usually the caller of a, distinguishes stacks\n"
    "Width: that of the terminal, else COLUMNS (40 to 400), else 100. Sentences wrap at 100 "
    "columns.";

struct DiffOptions {
  std::vector<std::string> files;
  std::string at = "peak";
  std::string at_a;
  std::string at_b;
  std::string by = "stack";
  std::optional<int32_t> device;
  std::optional<int32_t> device_a;
  std::optional<int32_t> device_b;
  bool devices = false;
  bool json = false;
  bool csv = false;
  size_t top = 8;
  std::vector<std::string> fail_on;
  std::string categories;
};

base::Result<DiffSide> sideOf(const AnalysedTrace& analysed, std::optional<int32_t> device,
                              const std::string& at, const std::string& name) {
  auto named = [&](base::Error error) {
    error.what = name + ": " + error.what;
    return error;
  };
  auto devices = analysis::diffDevices(analysed, device);
  if (!devices.ok()) return named(devices.error());
  auto side = analysis::diffSide(analysed, devices.value(), at);
  if (!side.ok()) return named(side.error());
  return side;
}

std::vector<std::string> namesOf(const Traces& traces) {
  std::vector<std::string> paths;
  for (const auto& trace : traces) paths.push_back(trace->trace.source.name);
  return report::distinctNames(paths);
}

std::string dumped(const nlohmann::json& value) {
  return value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

// ---- CSV ----------------------------------------------------------------------------------------

using Cells = std::vector<query::CellView>;

int64_t cell(uint64_t value) {
  return static_cast<int64_t>(std::min<uint64_t>(value, std::numeric_limits<int64_t>::max()));
}

std::unique_ptr<QueryWriter> csvWriter(Output& out, const std::vector<std::string>& columns) {
  auto writer = makeQueryWriter({QueryFormat::kCsv, terminalColumns()}, out);
  std::vector<query::QueryColumn> described;
  described.reserve(columns.size());
  for (const std::string& column : columns) described.push_back({column, {}, {}, {}});
  writer->onColumns(described);
  return writer;
}

void writeRows(const report::DiffTable& table, Output& out) {
  auto writer = csvWriter(out, {"by", "key", "label", "caller", "change", "change_bytes", "a_bytes",
                                "b_bytes", "a_blocks", "b_blocks", "match"});
  for (const report::ShownRow& shown : table.rows) {
    bool both = shown.row.a.blocks > 0 && shown.row.b.blocks > 0;
    bool stack = table.by == report::DiffBy::kStack;
    Cells cells = {
        report::name(table.by),
        stack ? query::CellView() : query::CellView(std::string_view(shown.key)),
        std::string_view(shown.label),
        std::string_view(shown.caller),
        analysis::name(shown.row.change()),
        shown.row.changeBytes(),
        cell(shown.row.a.bytes),
        cell(shown.row.b.bytes),
        cell(shown.row.a.blocks),
        cell(shown.row.b.blocks),
        stack && both ? query::CellView(analysis::name(shown.match)) : query::CellView()};
    writer->onRow(cells);
  }
  writer->finish();
}

void writeRanks(const std::vector<DiffSide>& sides, const analysis::RankTable& table,
                const std::vector<std::string>& names, Output& out) {
  auto writer = csvWriter(out, {"rank", "requested_bytes", "active_bytes", "reserved_bytes",
                                "blocks", "distance_bytes", "deviations", "stands_out"});
  for (size_t i = 0; i < sides.size(); ++i) {
    const analysis::Totals& totals = sides[i].totals;
    const analysis::Rank& rank = table.ranks[i];
    Cells cells = {std::string_view(names[i]),
                   cell(totals.requested_bytes),
                   cell(totals.active_bytes),
                   cell(totals.reserved_bytes),
                   cell(sides[i].rows.size()),
                   cell(rank.distance_bytes),
                   rank.deviations ? query::CellView(*rank.deviations) : query::CellView(),
                   int64_t{rank.stands_out}};
    writer->onRow(cells);
  }
  writer->finish();
}

// ---- two places ---------------------------------------------------------------------------------

int comparePair(const DiffOptions& options, const std::vector<report::DiffLimit>& limits,
                const Traces& traces) {
  std::vector<std::string> names = namesOf(traces);
  const AnalysedTrace& trace_a = *traces.front();
  const AnalysedTrace& trace_b = *traces.back();
  auto a = sideOf(trace_a, options.device_a ? options.device_a : options.device,
                  options.at_a.empty() ? options.at : options.at_a, names.front());
  if (!a.ok()) return reportError(a.error());
  auto b = sideOf(trace_b, options.device_b ? options.device_b : options.device,
                  options.at_b.empty() ? options.at : options.at_b, names.back());
  if (!b.ok()) return reportError(b.error());
  analysis::Diff diff = analysis::diffOf(std::move(a).value(), std::move(b).value());

  report::DiffTextOptions text;
  text.by = *report::diffByName(options.by);
  Output out;
  if (options.json) {
    out.write(dumped(
        report::diffJson(diff, report::diffTable(diff, text.by), names.front(), names.back())));
  } else if (options.csv) {
    writeRows(report::diffTable(diff, text.by), out);
  } else {
    text.colour = usesColours();
    text.columns = pageColumns();
    text.top = options.top;
    text.name_a = names.front();
    text.name_b = names.back();
    out.write(report::diffText(diff, text));
  }
  int exit_code = 0;
  for (const report::DiffLimit& limit : limits) {
    std::optional<std::string> why = report::exceeded(limit, diff);
    if (!why) continue;
    complain("tidegauge: " + *why + ".");
    exit_code = 1;
  }
  return out.finish(exit_code);
}

// ---- ranks --------------------------------------------------------------------------------------

struct Ranks {
  std::vector<DiffSide> sides;
  std::vector<std::string> names;
};

base::Result<Ranks> ranksIn(const DiffOptions& options, const Traces& traces) {
  Ranks ranks;
  std::vector<std::string> names = namesOf(traces);
  for (size_t i = 0; i < traces.size(); ++i) {
    if (!options.devices) {
      TG_ASSIGN_OR_RETURN(DiffSide side, sideOf(*traces[i], options.device, options.at, names[i]));
      ranks.sides.push_back(std::move(side));
      ranks.names.push_back(names[i]);
      continue;
    }
    auto devices = analysis::diffDevices(*traces[i], std::nullopt);
    if (!devices.ok()) return devices.error();
    for (const analysis::DeviceAnalysis* device : devices.value()) {
      TG_ASSIGN_OR_RETURN(DiffSide side,
                          sideOf(*traces[i], device->device.ordinal, options.at, names[i]));
      ranks.sides.push_back(std::move(side));
      std::string label = analysis::deviceLabel(device->device);
      ranks.names.push_back(traces.size() == 1 ? label : names[i] + " " + label);
    }
  }
  return ranks;
}

int compareRanks(const DiffOptions& options, const Traces& traces) {
  auto found = ranksIn(options, traces);
  if (!found.ok()) return reportError(found.error());
  const Ranks& ranks = found.value();
  if (ranks.sides.size() < 2) {
    return usageError("the file has only one device, so there is nothing to compare",
                      "Add a second file");
  }
  analysis::RankTable table = analysis::ranksOf(ranks.sides);
  Output out;
  if (options.json) {
    out.write(dumped(report::ranksJson(ranks.sides, table, ranks.names)));
  } else if (options.csv) {
    writeRanks(ranks.sides, table, ranks.names, out);
  } else {
    report::RanksTextOptions text{usesColours(), pageColumns(), options.top};
    out.write(report::ranksText(ranks.sides, table, ranks.names, text));
  }
  return out.finish(0);
}

// What unreadable files, each reported before, mean for the comparison.
void sayMissing(const DiffOptions& options, const Opened& opened, bool enough) {
  std::vector<std::string> failed;
  for (const FailedRead& one : opened.failed) failed.push_back(shownPath(one.path));
  std::string missing =
      fmt::format("{} of {} could not be read ({})", failed.size(),
                  base::counted(options.files.size(), "file"), fmt::join(failed, ", "));
  complain(base::printable(
      enough ? fmt::format("tidegauge: {}. Tidegauge compares the others.", missing)
             : fmt::format("tidegauge: nothing was compared, because {}.", missing)));
}

int run(const DiffOptions& options) {
  auto rules = readRules(options.categories);
  if (!rules.ok()) return reportError(rules.error());
  bool two_places =
      !options.at_a.empty() || !options.at_b.empty() || options.device_a || options.device_b;
  if (options.json && options.csv) return usageError("--json and --csv exclude each other");
  std::vector<report::DiffLimit> limits;
  for (const std::string& text : options.fail_on) {
    auto limit = report::parseDiffLimit(text);
    if (!limit.ok()) return reportError(limit.error());
    limits.push_back(std::move(limit).value());
  }
  Opened opened = openTraces(options.files, {.rules = rules.value()});
  bool ranks = options.devices || options.files.size() > 2 || opened.traces.size() > 2;
  // Ranks are compared as far as they can be read; a comparison of two files needs both.
  if (!opened.failed.empty()) {
    bool enough = ranks && opened.traces.size() >= (options.devices ? 1U : 2U);
    sayMissing(options, opened, enough);
    if (!enough) return opened.exit_code;
  }
  if (opened.traces.size() == 1 && !options.devices && !two_places) {
    return usageError(
        "a second FILE is missing",
        "Compare two points of one file with --at-a and --at-b, or its devices with --devices");
  }
  // A result of --fail-on does not count if a file was not read completely.
  auto codeOf = [&](int code) {
    return code > 1 || opened.exit_code == 0 ? code : opened.exit_code;
  };
  if (!ranks) return codeOf(comparePair(options, limits, opened.traces));
  const char* instead =
      options.devices ? "--devices compares" : "diff compares three or more files";
  if (two_places || options.by != "stack" || !options.fail_on.empty()) {
    return usageError(
        fmt::format("{} all at one point, by stack", instead),
        "Use --at-a, --at-b, --device-a, --device-b, --by and --fail-on with two files only");
  }
  return codeOf(compareRanks(options, opened.traces));
}

}  // namespace

void addDiffCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* command =
      app.add_subcommand("diff", "Compare two snapshots or recordings, or ranks of a job");
  command
      ->add_option("FILE", options->files,
                   "A (before) and B (after), or three or more ranks of one job")
      ->required()
      ->type_name("");
  const std::string places =
      "peak, end, oom, phase:NAME, phase:NAME#2 (its highest point), step:3101, time:2.5s";
  command->add_option("--at", options->at, "Point to compare: " + places)
      ->type_name("PLACE")
      ->capture_default_str();
  command->add_option("--at-a", options->at_a, "The same, for A only")->type_name("PLACE");
  command
      ->add_option("--at-b", options->at_b,
                   "The same, for B only; with one FILE, the second point in that file")
      ->type_name("PLACE");
  command->add_option("--by", options->by, "Group rows by stack, category, size or segment")
      ->check(oneOf({"stack", "category", "size", "segment"}))
      ->type_name("WHAT")
      ->capture_default_str();
  auto device = [&](const char* option, std::optional<int32_t>& value, const char* what) {
    command->add_option(option, value, what)->check(integer(-1, INT32_MAX))->type_name("N");
  };
  device("--device", options->device,
         "Only this device: 0, 1, …; -1 is pinned host memory (default: the sum of all GPUs)");
  device("--device-a", options->device_a, "The same, for A only");
  device("--device-b", options->device_b, "The same, for B only");
  command->add_flag("--devices", options->devices, "Treat every device as a rank");
  command->add_flag("--json", options->json, "Print exact numbers of all rows as JSON");
  command->add_flag("--csv", options->csv, "Print all rows as CSV");
  command->add_option("--top", options->top, "Number of rows to print, 1 to 100,000")
      ->check(wholeNumber(1, 100'000))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--fail-on", options->fail_on,
                   "Exit with code 1 if this condition is true, e.g. growth>1%, new>0 (see below)")
      ->type_name("LIMIT");
  addCategoriesOption(*command, options->categories);
  command->footer(kDiffFooter);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace tidegauge::cli
