#include "cli/report_command.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/open_trace.h"
#include "export/report_json.h"
#include "export/report_text.h"

namespace tidegauge::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> files;
  bool json = false;
  size_t top = 12;
};

// The terminal's width between 60 and 100; 100 when the output is a file.
size_t outputColumns() {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 100;
  return std::clamp<size_t>(size.ws_col, 60, 100);
}

int run(const ReportOptions& options) {
  base::Result<Traces> traces = openTraces(options.files);
  if (!traces.ok()) return reportError(traces.error());
  if (options.json) {
    nlohmann::json all = nlohmann::json::array();
    for (const auto& trace : traces.value()) all.push_back(exporting::reportJson(*trace));
    fmt::print("{}\n", (all.size() == 1 ? all[0] : all).dump(2));
    return 0;
  }
  exporting::TextOptions text;
  text.colour = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  text.columns = outputColumns();
  text.holders = options.top;
  bool first = true;
  for (const auto& trace : traces.value()) {
    fmt::print("{}{}", first ? "" : "\n\n", exporting::reportText(*trace, text));
    first = false;
  }
  return 0;
}

}  // namespace

void addReportCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command =
      app.add_subcommand("report", "Where the memory went: totals, peak, out of memory");
  command->add_option("FILE", options->files, "Snapshots; - reads standard input")->required();
  command->add_flag("--json", options->json, "Exact numbers as JSON");
  command->add_option("--top", options->top, "Rows per table")->capture_default_str();
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace tidegauge::cli
