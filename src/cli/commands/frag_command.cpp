#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "analysis/summary.h"
#include "base/ascii.h"
#include "base/format.h"
#include "base/sizes.h"
#include "base/text_layout.h"
#include "cli/commands.h"
#include "cli/commands/frag_watch.h"
#include "cli/commands/pick_process.h"
#include "cli/commands/picture_file.h"
#include "cli/open_trace.h"
#include "cli/options/new_file.h"
#include "cli/options/output.h"
#include "cli/options/selection_options.h"
#include "cli/options/terminal.h"
#include "cli/options/usage.h"
#include "export/plot/frag_plot.h"
#include "report/frag/frag_limits.h"
#include "report/frag/frag_report.h"
#include "report/words/file_names.h"
#include "report/words/sentence_json.h"

namespace tidegauge::cli {
namespace {

constexpr char kFragFooter[] =
    "Terms:\n"
    "  reserved    bytes that the allocator holds from the driver, in segments\n"
    "  active      reserved bytes in blocks that are in use (live blocks)\n"
    "  free        the other reserved bytes; a hole is one free range\n"
    "  pinned      free bytes that a live block in the same segment keeps from the driver\n"
    "  releasable  free bytes that can return to the driver (whole free segments or pages)\n"
    "  held        the same in the pool of a CUDA graph or MemPool: only that pool can use it\n"
    "  stranded    free bytes that a large request (95th percentile of this file) cannot use\n"
    "  scattered   free bytes outside the largest hole\n"
    "  external    the share of free bytes that is scattered\n"
    "  waste       bytes inside live blocks that were not requested\n"
    "  score       layout score, 0 to 100: below 40 low, from 40 light, 60 moderate, 80 severe\n"
    "Width: that of the terminal, else COLUMNS (40 to 400), else 100. Sentences wrap at 100 "
    "columns.";

struct FragCommandOptions {
  std::string file;
  report::Selection selection;
  report::FragOptions frag;
  std::string arena = "reserved";
  std::string capacity;
  std::string request;
  std::vector<std::string> fail_on;
  std::vector<report::FragLimit> limits;
  std::string plot;
  bool force = false;
  bool plain_address = false;
  bool json = false;
  bool csv = false;
  size_t rows = 12;
  std::optional<uint32_t> pid{};
  bool watch = false;
  WatchOptions watching;
};

struct FragPart {
  const analysis::AnalysedTrace* trace;
  std::vector<report::FragReport> reports;
};

int writeJson(const std::vector<FragPart>& parts, int exit_code) {
  nlohmann::json all = nlohmann::json::array();
  for (const FragPart& part : parts) {
    nlohmann::json devices = nlohmann::json::array();
    for (const report::FragReport& report : part.reports) {
      devices.push_back(report::fragJson(*part.trace, report));
    }
    all.push_back(
        {{"file", report::clean(part.trace->trace.source.name)}, {"devices", std::move(devices)}});
  }
  Output out;
  out.print("{}\n", (parts.size() == 1 ? all[0] : all).dump(2));
  return out.finish(exit_code);
}

int writeCsv(const std::vector<FragPart>& parts, int exit_code) {
  Output out;
  out.write(report::fragCsvHead());
  for (const FragPart& part : parts) {
    for (const report::FragReport& report : part.reports) out.write(report::fragCsv(report));
  }
  return out.finish(exit_code);
}

int writeText(const std::vector<FragPart>& parts, size_t rows, int exit_code) {
  std::vector<std::string> paths;
  paths.reserve(parts.size());
  for (const FragPart& part : parts) paths.push_back(part.trace->trace.source.name);
  std::vector<std::string> names = report::distinctNames(paths);
  report::FragTextOptions text{.columns = pageColumns(), .colour = usesColours(), .rows = rows};
  Output out;
  for (size_t i = 0; i < parts.size(); ++i) {
    out.print("{}{}\n", i == 0 ? "" : "\n", base::printable(names[i]));
    if (parts[i].reports.empty()) out.write("\nThis file has no device.\n");
    for (const report::FragReport& report : parts[i].reports) {
      out.write("\n" + report::fragText(*parts[i].trace, report, text));
      text.words = false;  // print them once
    }
  }
  return out.finish(exit_code);
}

std::string clockTime() {
  std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return fmt::format("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min, local.tm_sec);
}

int writeLine(const std::vector<FragPart>& parts, int exit_code) {
  Output out;
  for (const FragPart& part : parts) {
    for (const report::FragReport& report : part.reports) {
      const analysis::FragmentationSample& now = report.now.sample;
      const analysis::FreeSums& free = now.sums.free;
      std::string score;
      if (report.hasScore())
        score = fmt::format("  score {:.1f}", report::scoreOf(now, report.arena).score);
      out.print("{}  {}  step {}  reserved {}  active {}  free {}  pinned {}  largest hole {}{}\n",
                clockTime(), analysis::deviceLabel(report.device->device),
                base::withCommas(now.step), base::humanBytes(now.totals.reserved_bytes),
                base::humanBytes(now.totals.active_bytes), base::humanBytes(free.bytes),
                base::humanBytes(free.pinned_bytes), base::humanBytes(free.largest_bytes), score);
    }
  }
  return out.finish(exit_code);
}

int writePlot(const FragCommandOptions& options, const std::vector<FragPart>& parts) {
  const report::FragReport* first = nullptr;
  const FragPart* of = nullptr;
  size_t devices = 0;
  for (const FragPart& part : parts) {
    for (const report::FragReport& report : part.reports) {
      devices++;
      if (first == nullptr) {
        first = &report;
        of = &part;
      }
    }
  }
  if (first == nullptr) return usageError("there is no device to plot");
  if (devices > 1) {
    complain(fmt::format("tidegauge: the plot shows {} of {} devices; choose another with --device",
                         analysis::deviceLabel(first->device->device), devices));
  }
  std::string name = base::printable(report::distinctNames({of->trace->trace.source.name})[0]);
  std::string title =
      fmt::format("Fragmentation of {}, {}", name, analysis::deviceLabel(first->device->device));
  auto canvas = pictureCanvas(options.plot, exporting::kPlotWidth, exporting::kPlotHeight, title);
  exporting::drawFrag(*canvas, *of->trace, *first,
                      {.name = name, .plain_address = options.plain_address});
  return writePicture(*canvas, NewFile(options.plot, options.force, "--plot"));
}

int checkPlot(const FragCommandOptions& options) {
  if (options.plot.empty()) return 0;
  return refusePicture("--plot", options.plot, options.force, options.file);
}

// A limit that applies to no device would never be exceeded: that is a mistake, not a pass.
int refuseLimits(const FragCommandOptions& options, const std::vector<FragPart>& parts) {
  bool has_score = std::any_of(parts.begin(), parts.end(), [](const FragPart& part) {
    return std::any_of(part.reports.begin(), part.reports.end(),
                       [](const report::FragReport& report) { return report.hasScore(); });
  });
  if (has_score) return 0;
  for (const report::FragLimit& limit : options.limits) {
    if (!limit.needsScore()) continue;
    return usageError(
        fmt::format(
            "--fail-on {0}: this recording has no blocks of an allocator, so {0} is not defined",
            limit.metric()),
        "Choose another metric, e.g. --fail-on 'reserved>40GiB'");
  }
  return 0;
}

// Exit code 1 if a limit is exceeded; each one is reported on standard error.
int checkLimits(const FragCommandOptions& options, const std::vector<FragPart>& parts,
                int exit_code) {
  for (const FragPart& part : parts) {
    for (const report::FragReport& report : part.reports) {
      for (const report::FragLimit& limit : options.limits) {
        if (limit.needsScore() && !report.hasScore()) {
          complain(fmt::format(
              "tidegauge: {}: {} is not computed, because no allocator manages this memory",
              analysis::deviceLabel(report.device->device), limit.metric()));
          continue;
        }
        if (limit.metric() == "unfit" && !report.rulesKnown()) {
          bool has_none = report.allocator() == analysis::AllocatorKind::kDriver;
          complain(fmt::format(
              "tidegauge: {}: unfit is not computed, because {}",
              analysis::deviceLabel(report.device->device),
              has_none ? "no allocator keeps memory for it and the driver serves each request"
                       : "its allocator has rules of its own"));
          continue;
        }
        if (!limit.isBroken(report)) continue;
        complain(fmt::format("tidegauge: {}: {}", analysis::deviceLabel(report.device->device),
                             limit.sentence(report)));
        if (exit_code == 0) exit_code = 1;
      }
    }
  }
  return exit_code;
}

FileRead runOnce(const FragCommandOptions& options) {
  Opened opened = openTraces({options.file});
  int exit_code = opened.exit_code;
  if (options.pid && !opened.traces.empty()) {
    base::Status kept = keepProcess(opened.traces, *options.pid);
    if (!kept.ok()) return {true, reportError(kept.error())};
  }
  std::vector<FragPart> parts;
  for (const auto& trace : opened.traces) {
    auto choice = report::choose(*trace, options.selection);
    if (!choice.ok()) return {true, reportError(choice.error())};
    sayLeftOut(choice.value());
    FragPart part{trace.get(), {}};
    for (const report::Chosen& chosen : choice.value().devices) {
      part.reports.push_back(report::gatherFrag(*trace, chosen, options.frag));
    }
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return {false, exit_code};
  if (int code = refuseLimits(options, parts); code != 0) return {true, code};
  if (!options.plot.empty()) {
    if (int code = writePlot(options, parts); code != 0) return {true, code};
  }
  exit_code = checkLimits(options, parts, exit_code);
  if (options.json) return {true, writeJson(parts, exit_code)};
  if (options.csv) return {true, writeCsv(parts, exit_code)};
  if (options.watch) return {true, writeLine(parts, exit_code)};
  if (options.plot == "-") return {true, exit_code};
  return {true, writeText(parts, options.rows, exit_code)};
}

int run(FragCommandOptions& options) {
  if (options.json && options.csv) return usageError("--json and --csv exclude each other");
  options.frag.arena =
      options.arena == "address" ? report::Arena::kAddress : report::Arena::kReserved;
  if (!options.request.empty()) {
    options.frag.request_bytes = base::parseSize(options.request);
  }
  if (!options.capacity.empty()) {
    options.frag.capacity_bytes = base::parseSize(options.capacity);
  }
  for (const std::string& text : options.fail_on) {
    auto limit = report::parseLimit(text);
    if (!limit.ok()) return reportError(limit.error());
    if (limit.value().metric() == "unfit" && !options.frag.request_bytes) {
      return usageError("--fail-on unfit needs a size", "Add --request, e.g. --request 512MiB");
    }
    options.limits.push_back(std::move(limit).value());
  }
  if (int code = checkPlot(options); code != 0) return code;
  if (!options.watch) return runOnce(options).exit_code;
  if (options.file == "-") return usageError("--watch needs a file, not standard input");
  if (!options.plot.empty()) options.force = true;  // rewritten at each change
  options.watching.path = options.file;
  return watchFile(options.watching, [&] { return runOnce(options); });
}

}  // namespace

void addFragCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<FragCommandOptions>();
  CLI::App* command =
      app.add_subcommand("frag", "Report fragmentation over time, and the blocks that cause it");
  command
      ->add_option("FILE", options->file,
                   "Snapshot or recording; - reads a snapshot from standard input")
      ->required()
      ->type_name("");
  command->add_flag("--json", options->json, "Print exact numbers as JSON");
  command->add_flag("--csv", options->csv, "Print one CSV row per sample");
  command
      ->add_option("--plot", options->plot,
                   "Write a picture (.svg, .png) of blocks by address, score and forecast")
      ->type_name("OUT");
  command->add_flag("--force", options->force,
                    "Overwrite the file given to --plot if it exists (never the input FILE)");
  command->add_flag(
      "--plain-address", options->plain_address,
      "(--plot) Draw all addresses from the lowest to the highest, not only reserved ranges");
  command
      ->add_option("--request", options->request,
                   "Check whether a request of this size fits, 1 byte to 1 PiB, e.g. 512MiB")
      ->check(size(1, base::kMaxSizeBytes, "1 byte to 1 PiB, as in 512MiB"))
      ->type_name("SIZE");
  command
      ->add_option("--capacity", options->capacity,
                   "Device memory, e.g. 80GiB; frag then forecasts when reserved memory reaches it")
      ->check(size(1, base::kMaxSizeBytes, "1 byte to 1 PiB, as in 80GiB"))
      ->type_name("SIZE");
  command
      ->add_option(
          "--fail-on", options->fail_on,
          "Exit with code 1 if this is true at the end of the range, e.g. score>60,pinned>2GiB "
          "(see below)")
      ->delimiter(',')
      ->type_name("LIMIT");
  command
      ->add_option(
          "--arena", options->arena,
          "Score and forecast: reserved (addresses inside segments) or address (all addresses)")
      ->check(oneOf({"reserved", "address"}))
      ->type_name("ARENA")
      ->capture_default_str();
  command
      ->add_option("--samples", options->frag.samples,
                   fmt::format("Number of samples "
                               "over time, 1 to {}",
                               base::withCommas(analysis::kMaxSamples)))
      ->check(wholeNumber(1, analysis::kMaxSamples))
      ->type_name("N")
      ->capture_default_str();
  addPidOption(*command, options->pid);
  command
      ->add_option(
          "--rows", options->rows,
          fmt::format("Number of table rows, 2 to {}", base::withCommas(analysis::kMaxSamples)))
      ->check(wholeNumber(2, analysis::kMaxSamples))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--page", options->frag.layout.page_bytes,
                   "(score) Page size in bytes, 1 byte to 1 TiB")
      ->check(wholeNumber(1, uint64_t{1} << 40))
      ->type_name("BYTES")
      ->capture_default_str();
  command
      ->add_option(
          "--alpha", options->frag.layout.alpha,
          "(score) Exponent of the feature “unusable”, 0 to 100 (docs/explain/fragmentation.md)")
      ->check(number(0, 100))
      ->type_name("A")
      ->capture_default_str();
  command
      ->add_option("--small", options->frag.layout.small_bytes,
                   "(score) Blocks below this size count as small, 1 byte to 1 PiB")
      ->check(wholeNumber(1, base::kMaxSizeBytes))
      ->type_name("BYTES")
      ->capture_default_str();
  CLI::Option* watch = command->add_flag("--watch", options->watch,
                                         "Print a line each time the file changes, until Ctrl-C");
  command
      ->add_option("--count", options->watching.count,
                   "(--watch) Stop after this many readings, 1 to 1,000,000,000")
      ->check(wholeNumber(1, 1'000'000'000))
      ->type_name("N")
      ->needs(watch);
  command
      ->add_option("--interval", options->watching.interval_s,
                   "(--watch) Seconds between checks of the file, 0.05 to 3600")
      ->check(number(0.05, 3600))
      ->type_name("S")
      ->needs(watch)
      ->capture_default_str();
  addSelectionOptions(*command, options->selection);
  command->footer(fmt::format("Metrics of --fail-on: {}\n{}",
                              fmt::join(report::limitMetrics(), ", "), kFragFooter));
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace tidegauge::cli
