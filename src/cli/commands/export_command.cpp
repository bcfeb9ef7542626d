#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>

#include "assets/assets.h"
#include "base/format.h"
#include "base/sizes.h"
#include "base/text_layout.h"
#include "cli/commands.h"
#include "cli/commands/pick_process.h"
#include "cli/open_trace.h"
#include "cli/options/category_options.h"
#include "cli/options/new_file.h"
#include "cli/options/output.h"
#include "cli/options/selection_options.h"
#include "cli/options/usage.h"
#include "export/page/one_file_page.h"
#include "server/application.h"

namespace tidegauge::cli {
namespace {

constexpr uint64_t kMinBytes = 100'000;
constexpr uint64_t kMaxBytes = 1'000'000'000;

struct ExportOptions {
  std::string file;
  std::vector<std::string> more;
  std::string to;
  std::string output;
  report::Selection selection;
  std::string categories;
  std::string most_bytes = "5000000";
  bool force = false;
  std::optional<uint32_t> pid{};
};

// "runs/oom.pickle.zst" → "oom.html"
std::string outputFor(std::string_view file) {
  std::string_view name = file.substr(file.find_last_of('/') + 1);
  for (std::string_view end :
       {".zst", ".gz", ".zip", ".pickle", ".pkl", ".json", ".html", ".sqlite"}) {
    if (name.size() > end.size() && name.ends_with(end)) name.remove_suffix(end.size());
  }
  return fmt::format("{}.html", name.empty() || name == "-" ? "snapshot" : name);
}

std::string today() {
  std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

// Answers the page's questions without a socket.
exporting::Ask askerOf(server::Application& application) {
  return [&application](const std::string& question) -> base::Result<std::string> {
    server::Request request;
    request.target = "/export/api/" + question;
    request.hosts = {"127.0.0.1:1"};
    server::Response answer = application.answer(request, {});
    if (answer.status == 200) return std::move(answer.body);
    nlohmann::json said = nlohmann::json::parse(answer.body, nullptr, false);
    nlohmann::json error =
        said.is_object() ? said.value("error", nlohmann::json::object()) : nlohmann::json::object();
    return base::Error{base::ErrorKind::kUnreadable,
                       fmt::format("{}: {}", question, error.value("what", "no answer")),
                       {},
                       error.value("hint", "")};
  };
}

std::string rangeText(const exporting::PageDevice& device) {
  if (device.events == 0) return "the final state, there are no events";
  if (device.whole && device.events == 1) return "its one step";
  if (device.whole) return fmt::format("all {}", base::counted(device.events, "step"));
  return fmt::format("steps {} to {} of {}", base::withCommas(device.range.first),
                     base::withCommas(device.range.last), base::withCommas(device.events));
}

std::string depthText(const exporting::PageDevice& device) {
  std::string text = fmt::format("zooms in to {} a column",
                                 base::counted(uint64_t{1} << device.finest_level, "step"));
  text += device.places >= device.range.last - device.range.first + 1
              ? ", describes every step"
              : fmt::format(", describes {}", base::counted(device.places, "step"));
  if (device.allocations >= device.allocations_drawn)
    return text + " and every block that it draws";
  return text + fmt::format(" and {} of {} (the largest, from {})",
                            base::withCommas(device.allocations),
                            base::counted(device.allocations_drawn, "block"),
                            base::humanBytes(device.least_bytes));
}

std::string summaryOf(const exporting::OneFilePage& page, const std::string& path) {
  std::string text =
      fmt::format("{}: {} ({} bytes), opens in a browser, from disk\n", base::printable(path),
                  base::humanBytes(page.html.size()), base::withCommas(page.html.size()));
  for (const exporting::PageDevice& device : page.devices) {
    text +=
        fmt::format("  {}: {}{}{}\n", device.label, rangeText(device),
                    device.events == 0 ? "" : "; ", device.events == 0 ? "" : depthText(device));
  }
  return text;
}

// A page shows one process, so a recording of several needs a choice.
int refuseSeveral(const Traces& traces, const ExportOptions& options) {
  constexpr size_t kMaxNamed = 20;
  std::string file = shownPath(options.file);
  if (!traces[0]->trace.work) {
    return usageError(
        fmt::format("{} contains {} snapshots, and a page shows one", file, traces.size()),
        "Unpack it and export one of them");
  }
  int exit_code =
      options.pid ? usageError(fmt::format("process {} of {} ran {} programs, and a page shows one",
                                           *options.pid, file, traces.size()),
                               "`tidegauge view` shows all of them")
                  : usageError(fmt::format("{} contains {} processes, and a page shows one", file,
                                           traces.size()),
                               "Choose one with --pid PID");
  for (size_t i = 0; i < std::min(traces.size(), kMaxNamed); ++i) {
    std::string_view name = traces[i]->trace.source.name;
    complain("  " + base::printable(name.substr(name.find_last_of('/') + 1)));
  }
  if (traces.size() > kMaxNamed) {
    complain(
        fmt::format("  and {} more: tidegauge query FILE \"SELECT pid, name FROM all_processes\"",
                    traces.size() - kMaxNamed));
  }
  return exit_code;
}

int run(const ExportOptions& options) {
  if (options.to != "html") {
    return usageError(fmt::format("export cannot write the format “{}”", options.to),
                      "Use --to html. To end a range at a step or time, use --until");
  }
  if (!options.more.empty()) {
    return usageError(fmt::format("export takes one file, not {}", options.more.size() + 1),
                      "Run it once for each file");
  }
  NewFile file(options.output.empty() ? outputFor(options.file) : options.output, options.force);
  if (int exit_code = file.refuse(options.file); exit_code != 0) return exit_code;
  auto rules = readRules(options.categories);
  if (!rules.ok()) return reportError(rules.error());
  Opened opened = openTraces({options.file}, {.rules = rules.value()});
  if (opened.traces.empty()) return opened.exit_code;
  if (options.pid) {
    base::Status kept = keepProcess(opened.traces, *options.pid);
    if (!kept.ok()) return reportError(kept.error());
  }
  if (opened.traces.size() > 1) return refuseSeveral(opened.traces, options);
  const analysis::AnalysedTrace& analysed = *opened.traces.front();
  auto choice = report::choose(analysed, options.selection);
  if (!choice.ok()) return reportError(choice.error());
  sayChoice(choice.value());

  server::Application application(server::openSession(std::move(opened.traces)),
                                  server::Gate("export", 1));
  auto page = exporting::oneFilePage({.analysed = analysed,
                                      .devices = std::move(choice).value().devices,
                                      .ask = askerOf(application),
                                      .shell = assets::oneFilePage(),
                                      .written = today(),
                                      .most_bytes = *base::parseSize(options.most_bytes)});
  if (!page.ok()) return reportError(page.error());
  if (int exit_code = file.write(page.value().html); exit_code != 0) return exit_code;
  if (file.isStandardOutput()) return opened.exit_code;
  Output out;
  out.write(summaryOf(page.value(), file.path()));
  return out.finish(opened.exit_code);
}

}  // namespace

void addExportCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "Write the page into one HTML file");
  command
      ->add_option("FILE", options->file,
                   "Snapshot or recording; - reads a snapshot from standard input")
      ->required()
      ->type_name("");
  command->add_option("MORE", options->more)->group("");  // refused, with a better error
  command
      ->add_option("--to", options->to,
                   "Format: html (overview, "
                   "timeline and flame in one file)")
      ->required()
      ->type_name("FORMAT");
  command
      ->add_option(
          "-o,--output", options->output,
          "Output file (default: FILE's name with .html, in this folder); - writes to standard "
          "output")
      ->type_name("OUT");
  addPidOption(*command, options->pid);
  addSelectionOptions(*command, options->selection, "--until");
  addCategoriesOption(*command, options->categories);
  command
      ->add_option("--max-size", options->most_bytes,
                   "Maximum file size, in bytes or e.g. 3MiB; limits how far the page can zoom")
      ->check(size(kMinBytes, kMaxBytes, "100,000 bytes to 1 GB, as in 3MiB"))
      ->type_name("SIZE")
      ->capture_default_str();
  command->add_flag("--force", options->force, "Overwrite OUT if it exists");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace tidegauge::cli
