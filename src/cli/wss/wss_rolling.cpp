#include "cli/wss/wss_rolling.h"

#include "cli/commands/picture_file.h"
#include "cli/options/new_file.h"
#include "cli/options/usage.h"
#include "export/heat/heat_plot.h"
#include "wss/units.h"
#include "wss/words/heat_text.h"

namespace tidegauge::cli {

int checkRolling(const WssOptions& options) {
  if (options.course.rolling == 0) {
    if (options.form.heat || !options.files.plot.empty())
      return usageError("--heat and --plot draw the windows of --rolling", "Add --rolling 8");
    return 0;
  }
  if (options.form.compat || options.form.csv)
    return usageError("--compat and --csv have no columns for --rolling",
                      "Use --json or --jsonl for programs");
  if ((options.method.backend != "auto" && options.method.backend != "pte") ||
      (options.method.sample != "auto" && options.method.sample != "exact"))
    return usageError("--rolling follows every page; only --backend pte reads pages",
                      "Omit --backend and --sample");
  if (options.form.heat && options.form.json)
    return usageError("--json keeps all rows until the end, and --heat has too many rows for that",
                      "Use --jsonl, which writes each row immediately");
  return options.files.plot.empty()
             ? 0
             : refusePicture("--plot", options.files.plot, options.files.force, "");
}

std::unique_ptr<wss::RollingWindows> rollingOf(const WssOptions& options, const wss::Plan& plan) {
  if (options.course.rolling == 0) return nullptr;
  return std::make_unique<wss::RollingWindows>(
      wss::RollingOptions{.windows = options.course.rolling,
                          .window_s = wss::seconds(plan.duration_ns),
                          .shows_heat = options.form.heat,
                          .keeps_heat = !options.files.plot.empty()});
}

int writeHeatPlot(const WssOptions& options, const wss::RollingWindows& rolling,
                  const std::string& title) {
  if (options.files.plot.empty() || rolling.isEmpty()) return 0;
  constexpr size_t kMaxRows = 160, kMaxColumns = 256;
  wss::HeatPicture picture = wss::pictureOf(rolling.heat(), kMaxRows, kMaxColumns);
  auto canvas =
      pictureCanvas(options.files.plot, exporting::kHeatWidth, exporting::kHeatHeight, title);
  exporting::drawHeat(*canvas, picture, wss::rowNames(picture, rolling.mappings()), title);
  return writePicture(*canvas, NewFile(options.files.plot, options.files.force, "--plot"));
}

}  // namespace tidegauge::cli
