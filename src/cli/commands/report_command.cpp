#include "cli/commands/report_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "analysis/compare/outside.h"
#include "analysis/trace/whole_recording.h"
#include "base/sizes.h"
#include "cli/commands/pick_process.h"
#include "cli/open_trace.h"
#include "cli/options/output.h"
#include "cli/options/selection_options.h"
#include "cli/options/terminal.h"
#include "cli/options/usage.h"
#include "readers/recording/open_recording.h"
#include "report/recording/outside_report.h"
#include "report/recording/process_table.h"
#include "report/story/report_json.h"
#include "report/story/report_text.h"
#include "report/words/file_names.h"

namespace tidegauge::cli {
namespace {

constexpr char kWords[] =
    "Words:\n"
    "  requested  what the program asked for; allocated: that, rounded up to whole blocks\n"
    "  active     allocated, or freed but still in use by another stream; also called live\n"
    "  reserved   what the allocator took from the driver, in segments\n"
    "  pinned     free inside a segment that cannot go back to the driver: a live block is in it\n"
    "  churn      allocations that were freed soon after\n"
    "  a ‹ b      memory of line a; b tells it from other stacks of that line, mostly its caller\n"
    "  ≥          at least: the program had memory before it was watched, known in part only\n"
    "Width: the terminal's; elsewhere COLUMNS (40 to 400), else 100. Sentences end at 100.";

struct ReportOptions {
  std::vector<std::string> files;
  exporting::Selection selection;
  bool json = false;
  bool no_sql = false;
  bool replay = false, no_replay = false;
  exporting::Replays replays() const {
    if (no_replay) return exporting::Replays::kNone;
    return replay ? exporting::Replays::kAll : exporting::Replays::kShort;
  }
  std::string capacity{};
  std::optional<uint64_t> capacityBytes() const {
    return capacity.empty() ? std::nullopt : base::parseSize(capacity);
  }
  size_t top = 12;
  std::string with{};  // a recording of the same process
  std::optional<uint32_t> pid{};
};

// Of a recording: rows of the table, and then told one by one.
constexpr size_t kMostProcesses = 20;
constexpr size_t kMostTold = 3;

struct Part {
  const analysis::AnalysedTrace* trace;
  std::vector<exporting::Chosen> devices;
  std::optional<analysis::Outside> outside{};
};

int writeJson(const std::vector<Part>& parts, const ReportOptions& options, bool as_list,
              int exit_code) {
  nlohmann::json all = nlohmann::json::array();
  for (const Part& part : parts) {
    all.push_back(exporting::reportJson(*part.trace, part.devices, options.capacityBytes(),
                                        options.replays()));
    if (part.outside) all.back()["outside"] = exporting::outsideJson(*part.outside);
  }
  Output out;
  out.print("{}\n", (as_list ? all : all[0]).dump(2));
  return out.finish(exit_code);
}

// Names of the parts before it that are still beside this one, oldest first.
std::vector<std::string> partsBeside(const std::string& path, const model::RecordedPart& part) {
  constexpr int64_t kMostLooked = 4096;
  std::vector<std::string> names;
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  // "run.4.sqlite" is the part before the fifth.
  std::string before = fmt::format(".{}.", part.number - 1);
  size_t at = part.continues.rfind(before);
  if (part.number < 2 || at == std::string::npos || part.continues.find('/') != std::string::npos) {
    return names;
  }
  for (int64_t number = std::max<int64_t>(1, part.number - kMostLooked); number < part.number;
       ++number) {
    std::string name = part.continues;
    name.replace(at, before.size(), fmt::format(".{}.", number));
    std::error_code error;
    if (std::filesystem::exists(folder / name, error)) names.push_back(std::move(name));
  }
  return names;
}

// What is said of the whole recording, before its processes.
void startWithWhole(const analysis::WholeRecording& whole, const std::string& path,
                    const exporting::TextOptions& text, Output& out) {
  if (whole.run) {
    std::string said = exporting::partText(whole, partsBeside(path, whole.run->part), text);
    if (!said.empty()) out.write(said + "\n");
  }
  if (whole.processes.size() > 1) out.write(exporting::processesText(whole, kMostProcesses, text));
  std::string gpus = exporting::gpusText(whole, text);
  if (gpus.empty()) return;
  out.write(whole.processes.size() > 1 ? gpus : gpus.substr(1));  // without its blank line
  out.write("\n");
}

// The biggest of a recording with several processes.
void keepBiggest(const analysis::WholeRecording& whole, std::vector<Part>& parts, Output& out) {
  out.write(
      parts.size() > kMostTold
          ? fmt::format("  The {} with the highest peaks follow; --pid PID shows another.\n\n\n",
                        kMostTold)
          : "\n\n");
  std::vector<Part> order;
  for (size_t row : exporting::biggestFirst(whole)) {
    if (order.size() < kMostTold) order.push_back(parts[whole.processes[row].trace]);
  }
  parts = std::move(order);
}

int writeText(std::vector<Part> parts, const ReportOptions& options, int exit_code) {
  exporting::TextOptions text;
  text.colour = usesColours();
  text.columns = pageColumns();
  text.holders = options.top;
  text.evidence = !options.no_sql;
  text.capacity_bytes = options.capacityBytes();
  text.replays = options.replays();
  Output out;
  bool is_recording = options.files.size() == 1 && parts[0].trace->trace.work != nullptr;
  if (is_recording && !options.pid) {
    std::vector<const analysis::AnalysedTrace*> traces;
    for (const Part& part : parts) traces.push_back(part.trace);
    analysis::WholeRecording whole = analysis::wholeRecording(traces);
    startWithWhole(whole, options.files[0], text, out);
    if (whole.processes.size() > 1) keepBiggest(whole, parts, out);
  }
  std::vector<std::string> paths;
  for (const Part& part : parts) paths.push_back(part.trace->trace.source.name);
  std::vector<std::string> names = exporting::distinctNames(paths);
  for (size_t i = 0; i < parts.size() && !out.failed(); ++i) {
    text.name = names[i];
    out.write(i == 0 ? "" : "\n\n");
    out.write(exporting::reportText(*parts[i].trace, parts[i].devices, text));
    if (!parts[i].outside) continue;
    out.write("\n");
    out.write(exporting::outsideText(*parts[i].outside, text));
  }
  return out.finish(exit_code);
}

// What one file says, with what lies outside of it if a recording is there.
base::Result<Part> partOf(const analysis::AnalysedTrace& trace, const ReportOptions& options,
                          const Traces& recorded) {
  TG_ASSIGN_OR_RETURN(exporting::Choice choice, exporting::choose(trace, options.selection));
  sayLeftOut(choice);
  Part part{&trace, std::move(choice.devices)};
  if (options.with.empty()) return part;
  if (trace.trace.work != nullptr) {
    return base::Error{base::ErrorKind::kUsage, "--with joins a snapshot with a recording",
                       std::nullopt, "This file is a recording itself: leave --with out."};
  }
  std::vector<const analysis::AnalysedTrace*> processes;
  for (const auto& process : recorded) processes.push_back(process.get());
  TG_ASSIGN_OR_RETURN(part.outside, analysis::outsideOf(trace, processes, options.pid));
  return part;
}

int run(const ReportOptions& options) {
  Opened with;
  if (!options.with.empty()) {
    if (!readers::recording::isSqliteFile(options.with)) {
      return reportError({base::ErrorKind::kUsage, "--with " + options.with + ": no recording",
                          std::nullopt, "Name a file that `tidegauge record` wrote."});
    }
    with = openTraces({options.with}, {}, true);  // it says what is wrong
    if (with.traces.empty()) return with.exit_code;
  }
  Opened opened = openTraces(options.files);
  std::vector<Part> parts;
  int exit_code = opened.exit_code != 0 ? opened.exit_code : with.exit_code;
  // With --with it is a process of that recording.
  if (options.pid && options.with.empty() && !opened.traces.empty()) {
    base::Status kept = keepProcess(opened.traces, *options.pid);
    if (!kept.ok()) return reportError(kept.error());
  }
  for (const auto& trace : opened.traces) {
    auto part = partOf(*trace, options, with.traces);
    if (part.ok()) {
      parts.push_back(std::move(part).value());
      continue;
    }
    base::Error error = part.error();
    if (options.files.size() > 1) error.what = trace->trace.source.name + ": " + error.what;
    int code = reportError(error);
    if (exit_code == 0) exit_code = code;
  }
  if (parts.empty()) return exit_code;
  if (!options.json) return writeText(parts, options, exit_code);
  // The form follows what was asked, not how many of the files could be read.
  bool as_list = options.files.size() > 1 || opened.traces.size() > 1;
  return writeJson(parts, options, as_list, exit_code);
}

}  // namespace

int reportFile(const std::string& path) {
  ReportOptions options;
  options.files = {path};
  return run(options);
}

void addReportCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command =
      app.add_subcommand("report", "Where the memory went: totals, peak, out of memory");
  command
      ->add_option("FILE", options->files,
                   "Snapshots, recordings; - reads a snapshot from standard input")
      ->required()
      ->type_name("");
  command->add_flag("--json", options->json, "Exact numbers as JSON");
  command->add_flag("--no-sql", options->no_sql, "Leave out where to see each number");
  CLI::Option* replay = command->add_flag(
      "--replay", options->replay,
      "Say what other settings would have done of a recording of any length; without it of 500,000 "
      "events at the most");
  command->add_flag("--no-replay", options->no_replay, "Do not")->excludes(replay);
  command
      ->add_option("--capacity", options->capacity,
                   "Memory of the device, 1 byte to 1 PiB, as in 80GiB; units are binary")
      ->check(size(1, base::kMostSizeBytes, "1 byte to 1 PiB, as in 80GiB"))
      ->type_name("BYTES");
  command
      ->add_option("--with", options->with,
                   "A recording of the same process: what the driver held outside PyTorch")
      ->type_name("RECORDING");
  command->add_option("--top", options->top, "Rows per table, 1 to 100,000")
      ->check(wholeNumber(1, 100'000))
      ->type_name("N")
      ->capture_default_str();
  addPidOption(*command, options->pid);
  addSelectionOptions(*command, options->selection);
  command->footer(kWords);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace tidegauge::cli
