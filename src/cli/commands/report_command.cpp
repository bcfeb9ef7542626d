#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "analysis/compare/outside.h"
#include "analysis/stated_device.h"
#include "analysis/trace/whole_recording.h"
#include "base/sizes.h"
#include "cli/commands.h"
#include "cli/commands/pick_process.h"
#include "cli/file_kind.h"
#include "cli/open_trace.h"
#include "cli/options/output.h"
#include "cli/options/selection_options.h"
#include "cli/options/terminal.h"
#include "cli/options/usage.h"
#include "report/recording/held_by_process.h"
#include "report/recording/outside_report.h"
#include "report/recording/process_table.h"
#include "report/recording/unrecorded_report.h"
#include "report/story/report_json.h"
#include "report/story/report_text.h"
#include "report/words/file_names.h"

namespace tidegauge::cli {
namespace {

constexpr char kReportFooter[] =
    "Terms:\n"
    "  requested  bytes that the program asked for\n"
    "  allocated  requested bytes, rounded up to whole blocks\n"
    "  active     allocated bytes, and freed bytes in use by another stream; also called live\n"
    "  reserved   bytes that the allocator holds from the driver, in segments\n"
    "  pinned     free bytes that cannot return to the driver: their segment has a live block\n"
    "  churn      allocations that the program freed within 100 later allocations\n"
    "  a ‹ b      memory allocated at line a; b, usually the caller of a, distinguishes stacks\n"
    "  ≥          lower bound: the recording shows only part of the memory allocated before it\n"
    "Width: that of the terminal, else COLUMNS (40 to 400), else 100. Sentences wrap at 100 "
    "columns.";

struct ReportOptions {
  std::vector<std::string> files;
  report::Selection selection;
  bool json = false;
  bool full = false, sql = false;
  bool no_sql = false;  // the default; kept for scripts from when it was not
  bool replay = false, no_replay = false;
  analysis::Replays replays() const {
    if (no_replay) return analysis::Replays::kNone;
    return replay ? analysis::Replays::kAll : analysis::Replays::kShort;
  }
  std::string capacity{};
  std::optional<uint64_t> capacityBytes() const {
    return capacity.empty() ? std::nullopt : base::parseSize(capacity);
  }
  size_t top = 12;
  bool has_top = false;  // the user gave it
  std::string with{};    // a recording of the same process
  std::optional<uint32_t> pid{};
  std::string oom = "worst";
};

// In a recording: rows of the table, and processes described one by one.
constexpr size_t kMaxProcesses = 20, kFewProcesses = 5;
constexpr size_t kMaxDescribed = 3;

struct ReportPart {
  const analysis::AnalysedTrace* trace;
  std::vector<report::Chosen> devices;
  std::optional<analysis::Outside> outside{};
};

int writeJson(const std::vector<ReportPart>& parts, const ReportOptions& options, bool as_list,
              int exit_code) {
  nlohmann::json all = nlohmann::json::array();
  for (const ReportPart& part : parts) {
    all.push_back(
        report::reportJson(*part.trace, part.devices, options.capacityBytes(), options.replays()));
    if (part.outside) all.back()["outside"] = report::outsideJson(*part.outside);
  }
  Output out;
  out.print("{}\n", (as_list ? all : all[0]).dump(2));
  return out.finish(exit_code);
}

// Names of earlier parts that still exist beside this one, oldest first.
std::vector<std::string> partsBeside(const std::string& path, const model::RecordedPart& part) {
  constexpr int64_t kMaxLooked = 4096;
  std::vector<std::string> names;
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  // "run.4.sqlite" is the part before the fifth.
  std::string before = fmt::format(".{}.", part.number - 1);
  size_t at = part.continues.rfind(before);
  if (part.number < 2 || at == std::string::npos || part.continues.find('/') != std::string::npos) {
    return names;
  }
  for (int64_t number = std::max<int64_t>(1, part.number - kMaxLooked); number < part.number;
       ++number) {
    std::string name = part.continues;
    name.replace(at, before.size(), fmt::format(".{}.", number));
    std::error_code error;
    if (std::filesystem::exists(folder / name, error)) names.push_back(std::move(name));
  }
  return names;
}

// The part about the whole recording, before its processes.
void startWithWhole(const analysis::WholeRecording& whole, const std::string& path,
                    const report::TextOptions& text, size_t processes, Output& out) {
  if (std::string held = report::heldByProcessText(whole, processes, text); !held.empty())
    out.write(held + "\n");
  if (whole.run) {
    if (std::string left = report::unrecordedText(*whole.run, processes, text); !left.empty())
      out.write(left + "\n");
    std::string said = report::partText(whole, partsBeside(path, whole.run->part), text);
    if (!said.empty()) out.write(said + "\n");
  }
  if (whole.processes.size() > 1) out.write(report::processesText(whole, processes, text));
  std::string gpus = report::gpusText(whole, text);
  if (gpus.empty()) return;
  out.write(whole.processes.size() > 1 ? gpus : gpus.substr(1));  // without its blank line
  out.write("\n");
}

bool ranOutOfMemory(const ReportPart& part) {
  const std::vector<model::Action>& actions = part.trace->trace.events.action;
  return std::ranges::find(actions, model::Action::kOom) != actions.end();
}

// Keeps the largest processes of a recording; if only one is described, the largest that ran out of
// memory.
void keepMostImportant(const analysis::WholeRecording& whole, std::vector<ReportPart>& parts,
                       size_t most, Output& out) {
  std::vector<ReportPart> order;
  for (size_t row : report::biggestFirst(whole)) order.push_back(parts[whole.processes[row].trace]);
  auto failed = std::ranges::find_if(order, ranOutOfMemory);
  bool has_failed = most == 1 && failed != order.end();
  if (has_failed) std::rotate(order.begin(), failed, failed + 1);
  std::string which = has_failed  ? "one that ran out of memory"
                      : most == 1 ? "one with the highest peak"
                                  : fmt::format("{} with the highest peaks", most);
  out.write(
      order.size() > most
          ? fmt::format("  The report describes the {}; --pid PID shows another.\n\n\n", which)
          : "\n\n");
  if (order.size() > most) order.resize(most);
  parts = std::move(order);
}

int writeText(std::vector<ReportPart> parts, const ReportOptions& options, int exit_code) {
  report::TextOptions text;
  text.colour = usesColours();
  text.columns = pageColumns();
  text.holders = options.top;
  if (options.has_top) text.brief_holders = options.top;
  text.full = options.full;
  text.evidence = options.sql;
  text.capacity_bytes = options.capacityBytes();
  text.replays = options.replays();
  Output out;
  bool is_recording = options.files.size() == 1 && parts[0].trace->trace.work != nullptr;
  if (is_recording && !options.pid) {
    std::vector<const analysis::AnalysedTrace*> traces;
    traces.reserve(parts.size());
    for (const ReportPart& part : parts) traces.push_back(part.trace);
    analysis::WholeRecording whole = analysis::wholeRecording(traces);
    startWithWhole(whole, options.files[0], text, options.full ? kMaxProcesses : kFewProcesses,
                   out);
    if (whole.processes.size() > 1)
      keepMostImportant(whole, parts, options.full ? kMaxDescribed : 1, out);
  }
  std::vector<std::string> paths;
  paths.reserve(parts.size());
  for (const ReportPart& part : parts) paths.push_back(part.trace->trace.source.name);
  std::vector<std::string> names = report::distinctNames(paths);
  for (size_t i = 0; i < parts.size() && !out.failed(); ++i) {
    text.name = names[i];
    out.write(i == 0 ? "" : "\n\n");
    out.write(report::reportText(*parts[i].trace, parts[i].devices, text));
    if (!parts[i].outside) continue;
    out.write("\n");
    out.write(report::outsideText(*parts[i].outside, text));
  }
  return out.finish(exit_code);
}

// When the only file was written at the latest, since the epoch; of several, parts do not name
// theirs. The kernel's times of files are up to a tick old, and those of archives up to 2 s.
std::optional<int64_t> writtenNs(const std::vector<std::string>& files) {
  constexpr int64_t kSecond = 1'000'000'000, kTick = 10'000'000, kYear2200 = 7'258'118'400;
  struct stat file {};
  if (files.size() != 1 || stat(files.front().c_str(), &file) != 0) return std::nullopt;
  const timespec& time = file.st_mtim;
  if (time.tv_sec < 0 || time.tv_sec > kYear2200) return std::nullopt;
  return time.tv_sec * kSecond + time.tv_nsec + (time.tv_nsec == 0 ? 2 * kSecond : kTick);
}

// The report on one file; with a recording, also on the memory outside of it.
base::Result<ReportPart> partOf(const analysis::AnalysedTrace& trace, const ReportOptions& options,
                                const Traces& recorded) {
  TG_ASSIGN_OR_RETURN(report::Choice choice, report::choose(trace, options.selection));
  sayLeftOut(choice);
  for (report::Chosen& chosen : choice.devices) {
    if (options.oom == "last") chosen.oom = analysis::OomChoice::kLast;
    auto stated = analysis::checkStated(trace, *chosen.device, {options.capacityBytes(), {}});
    if (!stated.ok())
      complain(fmt::format("tidegauge: {}. The reasons for out of memory do not use that size.",
                           stated.error().what));
  }
  ReportPart part{&trace, std::move(choice.devices)};
  if (options.with.empty()) return part;
  if (trace.trace.work != nullptr) {
    return base::Error{base::ErrorKind::kUsage,
                       "--with adds a recording to a snapshot, and this file is a recording",
                       std::nullopt, "Omit --with."};
  }
  std::vector<const analysis::AnalysedTrace*> processes;
  for (const auto& process : recorded) processes.push_back(process.get());
  TG_ASSIGN_OR_RETURN(part.outside,
                      analysis::outsideOf(trace, processes, options.pid, writtenNs(options.files)));
  return part;
}

int run(const ReportOptions& options) {
  Opened with;
  if (!options.with.empty()) {
    if (kindOf(options.with) != FileKind::kRecording) {
      return reportError({base::ErrorKind::kUsage,
                          "--with " + options.with + ": this is not a recording", std::nullopt,
                          "Name a file written by `tidegauge record`."});
    }
    with = openTraces({options.with}, {.driver_memory = true});  // it reports the error
    if (with.traces.empty()) return with.exit_code;
  }
  Opened opened = openTraces(options.files);
  std::vector<ReportPart> parts;
  int exit_code = opened.exit_code != 0 ? opened.exit_code : with.exit_code;
  // With --with, it is a process of that recording.
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
  // The form depends on the request, not on how many files could be read.
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
      app.add_subcommand("report", "Print a report: totals, peak, out of memory, advice");
  command
      ->add_option("FILE", options->files,
                   "Snapshots or recordings; - reads a snapshot from standard input")
      ->required()
      ->type_name("");
  command->add_flag("--json", options->json, "Print exact numbers as JSON");
  command->add_flag("--full", options->full, "Print every section, not only the answer");
  CLI::Option* sql = command->add_flag("--sql", options->sql,
                                       "Print the SQL query and the view that show each number");
  command->add_flag("--no-sql", options->no_sql, "Do not print them (default)")->excludes(sql);
  CLI::Option* replay = command->add_flag(
      "--replay", options->replay,
      "Replay other allocator settings even if the file has more than 500,000 events");
  command->add_flag("--no-replay", options->no_replay, "Do not replay other allocator settings")
      ->excludes(replay);
  command
      ->add_option("--capacity", options->capacity,
                   "Device memory, 1 byte to 1 PiB, e.g. 80GiB (binary units)")
      ->check(size(1, base::kMaxSizeBytes, "1 byte to 1 PiB, as in 80GiB"))
      ->type_name("BYTES");
  command
      ->add_option(
          "--with", options->with,
          "Recording of the same process; the report then includes memory held outside PyTorch")
      ->type_name("RECORDING");
  command
      ->add_option("--oom", options->oom,
                   "Which failed request to explain, if several failed: worst or last")
      ->check([](const std::string& text) {
        bool is_one = text == "worst" || text == "last";
        return is_one ? std::string() : fmt::format("must be worst or last, not “{}”", text);
      })
      ->type_name("WHICH")
      ->capture_default_str();
  CLI::Option* top =
      command->add_option("--top", options->top, "Number of rows per table, 1 to 100,000")
          ->check(wholeNumber(1, 100'000))
          ->type_name("N")
          ->capture_default_str();
  addPidOption(*command, options->pid);
  addSelectionOptions(*command, options->selection);
  command->footer(kReportFooter);
  command->callback([options, top, &exit_code] {
    options->has_top = top->count() > 0;
    exit_code = run(*options);
  });
}

}  // namespace tidegauge::cli
