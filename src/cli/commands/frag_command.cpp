#include "cli/commands/frag_command.h"

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
#include "cli/commands/frag_watch.h"
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

constexpr char kWords[] =
    "Words:\n"
    "  reserved    what the allocator took from the driver, in segments\n"
    "  active      of it, in live blocks; free: the rest, also called holes\n"
    "  pinned      free, but a live block in the same segment keeps it from the driver; "
    "releasable: "
    "free in whole segments or pages\n"
    "  stranded    free, in pieces that are no use to a large request of this recording\n"
    "  scattered   free, outside the largest piece; external: its share of what is free\n"
    "  waste       inside live blocks, but not asked for\n"
    "  score       of the layout, to 100, high where free memory is cut up: from 40 light, 60 "
    "moderate, 80 severe\n"
    "Width: the terminal's; elsewhere COLUMNS (40 to 400), else 100. Sentences end at 100.";

struct FragCommandOptions {
  std::string file;
  exporting::Selection selection;
  exporting::FragOptions frag;
  std::string arena = "reserved";
  std::string capacity;
  std::string request;
  std::vector<std::string> fail_on;
  std::vector<exporting::FragLimit> limits;
  std::string plot;
  bool force = false;
  bool plain_address = false;
  bool json = false;
  bool csv = false;
  size_t rows = 12;
  bool watch = false;
  WatchOptions watching;
};

struct Part {
  const analysis::AnalysedTrace* trace;
  std::vector<exporting::FragReport> reports;
};

int writeJson(const std::vector<Part>& parts, int exit_code) {
  nlohmann::json all = nlohmann::json::array();
  for (const Part& part : parts) {
    nlohmann::json devices = nlohmann::json::array();
    for (const exporting::FragReport& report : part.reports) {
      devices.push_back(exporting::fragJson(*part.trace, report));
    }
    all.push_back({{"file", exporting::clean(part.trace->trace.source.name)},
                   {"devices", std::move(devices)}});
  }
  Output out;
  out.print("{}\n", (parts.size() == 1 ? all[0] : all).dump(2));
  return out.finish(exit_code);
}

int writeCsv(const std::vector<Part>& parts, int exit_code) {
  Output out;
  out.write(exporting::fragCsvHead());
  for (const Part& part : parts) {
    for (const exporting::FragReport& report : part.reports) out.write(exporting::fragCsv(report));
  }
  return out.finish(exit_code);
}

int writeText(const std::vector<Part>& parts, size_t rows, int exit_code) {
  std::vector<std::string> paths;
  for (const Part& part : parts) paths.push_back(part.trace->trace.source.name);
  std::vector<std::string> names = exporting::distinctNames(paths);
  exporting::FragTextOptions text{.columns = pageColumns(), .colour = usesColours(), .rows = rows};
  Output out;
  for (size_t i = 0; i < parts.size(); ++i) {
    out.print("{}{}\n", i == 0 ? "" : "\n", base::printable(names[i]));
    if (parts[i].reports.empty()) out.write("\nThis file has no device.\n");
    for (const exporting::FragReport& report : parts[i].reports) {
      out.write("\n" + exporting::fragText(*parts[i].trace, report, text));
      text.words = false;  // once is enough
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

int writeLine(const std::vector<Part>& parts, int exit_code) {
  Output out;
  for (const Part& part : parts) {
    for (const exporting::FragReport& report : part.reports) {
      const analysis::FragmentationSample& now = report.now.sample;
      const analysis::FreeSums& free = now.sums.free;
      std::string score;
      if (report.hasScore())
        score = fmt::format("  score {:.1f}", exporting::scoreOf(now, report.arena).score);
      out.print("{}  {}  step {}  reserved {}  active {}  free {}  pinned {}  largest hole {}{}\n",
                clockTime(), analysis::deviceLabel(report.device->device),
                base::withCommas(now.step), base::humanBytes(now.totals.reserved_bytes),
                base::humanBytes(now.totals.active_bytes), base::humanBytes(free.bytes),
                base::humanBytes(free.pinned_bytes), base::humanBytes(free.largest_bytes), score);
    }
  }
  return out.finish(exit_code);
}

int writePlot(const FragCommandOptions& options, const std::vector<Part>& parts) {
  const exporting::FragReport* first = nullptr;
  const Part* of = nullptr;
  size_t devices = 0;
  for (const Part& part : parts) {
    for (const exporting::FragReport& report : part.reports) {
      devices++;
      if (first == nullptr) {
        first = &report;
        of = &part;
      }
    }
  }
  if (first == nullptr) return usageError("there is no device to plot");
  if (devices > 1) {
    complain(fmt::format("tidegauge: the plot shows {} of {} devices; --device chooses another",
                         analysis::deviceLabel(first->device->device), devices));
  }
  std::string name = base::printable(exporting::distinctNames({of->trace->trace.source.name})[0]);
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

// A limit that can be told of no device would never be broken: that is a mistake, not a pass.
int refuseLimits(const FragCommandOptions& options, const std::vector<Part>& parts) {
  bool has_score = std::any_of(parts.begin(), parts.end(), [](const Part& part) {
    return std::any_of(part.reports.begin(), part.reports.end(),
                       [](const exporting::FragReport& report) { return report.hasScore(); });
  });
  if (has_score) return 0;
  for (const exporting::FragLimit& limit : options.limits) {
    if (!limit.needsScore()) continue;
    return usageError(
        fmt::format("--fail-on {0}: there is no {0}: no allocator's blocks are in this "
                    "recording, so nothing lies free",
                    limit.metric()),
        "Choose another metric, as in --fail-on 'reserved>40GiB'");
  }
  return 0;
}

// Exit code 1 if one of the limits is broken, each named on standard error.
int checkLimits(const FragCommandOptions& options, const std::vector<Part>& parts, int exit_code) {
  for (const Part& part : parts) {
    for (const exporting::FragReport& report : part.reports) {
      for (const exporting::FragLimit& limit : options.limits) {
        if (limit.needsScore() && !report.hasScore()) {
          complain(fmt::format("tidegauge: {}: {} is not told: no allocator keeps memory there",
                               analysis::deviceLabel(report.device->device), limit.metric()));
          continue;
        }
        if (limit.metric() == "unfit" && !report.rulesKnown()) {
          bool has_none = report.allocator() == analysis::AllocatorKind::kDriver;
          complain(fmt::format("tidegauge: {}: unfit is not told: {}",
                               analysis::deviceLabel(report.device->device),
                               has_none ? "no allocator keeps memory for it, the driver is asked"
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
  std::vector<Part> parts;
  for (const auto& trace : opened.traces) {
    auto choice = exporting::choose(*trace, options.selection);
    if (!choice.ok()) return {true, reportError(choice.error())};
    sayLeftOut(choice.value());
    Part part{trace.get(), {}};
    for (const exporting::Chosen& chosen : choice.value().devices) {
      part.reports.push_back(exporting::gatherFrag(*trace, chosen, options.frag));
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
      options.arena == "address" ? exporting::Arena::kAddress : exporting::Arena::kReserved;
  if (!options.request.empty()) {
    options.frag.request_bytes = base::parseSize(options.request);
  }
  if (!options.capacity.empty()) {
    options.frag.capacity_bytes = base::parseSize(options.capacity);
  }
  for (const std::string& text : options.fail_on) {
    auto limit = exporting::parseLimit(text);
    if (!limit.ok()) return reportError(limit.error());
    if (limit.value().metric() == "unfit" && !options.frag.request_bytes) {
      return usageError("--fail-on unfit needs a size", "Add --request, as in --request 512MiB");
    }
    options.limits.push_back(std::move(limit).value());
  }
  if (int code = checkPlot(options); code != 0) return code;
  if (!options.watch) return runOnce(options).exit_code;
  if (options.file == "-") return usageError("--watch needs a file, not standard input");
  if (!options.plot.empty()) options.force = true;  // written again at each change
  options.watching.path = options.file;
  return watchFile(options.watching, [&] { return runOnce(options); });
}

}  // namespace

void addFragCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<FragCommandOptions>();
  CLI::App* command = app.add_subcommand(
      "frag", "Fragmentation over time: what was free but could not be used, and who pins it");
  command
      ->add_option("FILE", options->file,
                   "A snapshot or recording; - reads a snapshot from standard input")
      ->required()
      ->type_name("");
  command->add_flag("--json", options->json, "Exact numbers as JSON");
  command->add_flag("--csv", options->csv, "A row per sample");
  command
      ->add_option("--plot", options->plot,
                   "Write a picture, .svg or .png: where blocks lay, score, forecast")
      ->type_name("OUT");
  command->add_flag("--force", options->force,
                    "Write over the picture of --plot if it exists; never over FILE");
  command->add_flag("--plain-address", options->plain_address,
                    "In the picture, the whole span of addresses instead of owned ranges");
  command
      ->add_option(
          "--request", options->request,
          "Would a request of this size fit? From 1 byte to 1 PiB, as in 512MiB; units are binary")
      ->check(size(1, base::kMostSizeBytes, "1 byte to 1 PiB, as in 512MiB"))
      ->type_name("SIZE");
  command
      ->add_option("--capacity", options->capacity,
                   "Memory of the device, as in 80GiB: when reserved bytes would reach it")
      ->check(size(1, base::kMostSizeBytes, "1 byte to 1 PiB, as in 80GiB"))
      ->type_name("SIZE");
  command
      ->add_option("--fail-on", options->fail_on,
                   fmt::format("Exit code 1 if this holds at the end of the range, as in score>60 "
                               "or pinned>2GiB; metrics: {}",
                               fmt::join(exporting::limitMetrics(), ", ")))
      ->delimiter(',')
      ->type_name("LIMIT");
  command->add_option("--arena", options->arena, "Whose score is shown and forecast")
      ->check(oneOf({"reserved", "address"}))
      ->type_name("ARENA")
      ->capture_default_str();
  command
      ->add_option("--samples", options->frag.samples,
                   fmt::format("Points in time, 1 to {}", base::withCommas(analysis::kMostSamples)))
      ->check(wholeNumber(1, analysis::kMostSamples))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option(
          "--rows", options->rows,
          fmt::format("Rows of the table, 2 to {}", base::withCommas(analysis::kMostSamples)))
      ->check(wholeNumber(2, analysis::kMostSamples))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--page", options->frag.layout.page_bytes,
                   "Page of the score, in bytes, 1 to 1 TiB")
      ->check(wholeNumber(1, uint64_t{1} << 40))
      ->type_name("BYTES")
      ->capture_default_str();
  command
      ->add_option("--alpha", options->frag.layout.alpha,
                   "Power of the score's unusable index, 0 to 100")
      ->check(number(0, 100))
      ->type_name("A")
      ->capture_default_str();
  command
      ->add_option("--small", options->frag.layout.small_bytes,
                   "Blocks below this many bytes are small, for the score; 1 byte to 1 PiB")
      ->check(wholeNumber(1, base::kMostSizeBytes))
      ->type_name("BYTES")
      ->capture_default_str();
  command->add_flag("--watch", options->watch,
                    "A line each time the file is written again, or has grown; Ctrl-C ends it");
  command
      ->add_option(
          "--count", options->watching.count,
          "With --watch: end after so many readings, 1 to 1,000,000,000; else only Ctrl-C does")
      ->check(wholeNumber(1, 1'000'000'000))
      ->type_name("N");
  command
      ->add_option("--interval", options->watching.interval_s,
                   "With --watch: seconds between looks at the file, 0.05 to 3600")
      ->check(number(0.05, 3600))
      ->type_name("S")
      ->capture_default_str();
  addSelectionOptions(*command, options->selection);
  command->footer(kWords);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace tidegauge::cli
