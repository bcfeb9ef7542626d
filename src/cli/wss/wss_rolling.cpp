#include "cli/wss/wss_rolling.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text_layout.h"
#include "cli/commands/picture_file.h"
#include "cli/options/new_file.h"
#include "cli/options/usage.h"
#include "export/plot/heat_plot.h"
#include "wss/words/heat_text.h"
#include "wss/words/row_json.h"

namespace tidegauge::cli {
namespace {

int64_t middleOf(const wss::Pass& pass) { return pass.begin_ns + pass.duration_ns() / 2; }

}  // namespace

int checkRolling(const WssOptions& options) {
  if (options.rolling == 0) {
    if (options.heat || !options.plot.empty())
      return usageError("--heat and --plot draw the windows of --rolling",
                        "Take --rolling 8 beside it");
    return 0;
  }
  if (options.compat || options.csv)
    return usageError("--compat and --csv have no columns for --rolling",
                      "Use --json or --jsonl for programs");
  if ((options.backend != "auto" && options.backend != "pte") ||
      (options.sample != "auto" && options.sample != "exact"))
    return usageError("--rolling follows every page; only --backend pte reads pages",
                      "Leave out --backend and --sample");
  if (options.heat && options.json)
    return usageError("--json keeps all rows to the end, which --heat makes too many",
                      "Take --jsonl, which writes each as it comes");
  return options.plot.empty() ? 0 : refusePicture("--plot", options.plot, options.force, "");
}

WssRolling::WssRolling(const WssOptions& options, double window_s)
    : options_(options), window_s_(window_s), history_(options.rolling) {}

void WssRolling::add(const wss::Row& row) {
  if (!began_ns_) began_ns_ = row.clear.begin_ns;
  if (windows_++ != 0) unseen_ns_ += middleOf(row.clear) - last_read_ns_;
  last_read_ns_ = middleOf(row.read);
  if (windows_ == 1) first_read_ns_ = last_read_ns_;
  auto since = [&](int64_t ns) { return static_cast<double>(ns - *began_ns_) * 1e-9; };
  time_s_ = since(row.read.end_ns);
  last_ = history_.add(row.pages);
  reuse_.add(last_);
  mappings_ = row.uses;
  if (options_.heat || !options_.plot.empty())
    heat_.add(since(row.clear.begin_ns), time_s_, row.pages);
}

std::string WssRolling::header() const { return wss::rollingHeader(last_, window_s_); }

std::string WssRolling::rowText(const wss::Row& row) const {
  return (windows_ == 1 ? header() : "") + wss::rollingText(row, last_, time_s_);
}

nlohmann::json WssRolling::rowJson(const wss::Row& row) const {
  nlohmann::json json = wss::rollingJson(last_, window_s_);
  if (options_.heat) json["cells"] = wss::cellsJson(row.pages);
  return json;
}

// From the middle of one reading to that of the next: so much a heading stands for.
wss::RollingPace WssRolling::pace() const {
  if (windows_ < 2) return {};
  auto mean = [&](int64_t ns) { return static_cast<double>(ns) * 1e-9 / (windows_ - 1); };
  return {mean(last_read_ns_ - first_read_ns_), mean(unseen_ns_)};
}

std::string WssRolling::closingText(size_t columns, bool colour) const {
  if (windows_ == 0) return {};
  std::string text;
  if (windows_ > 1) text += "\n" + wss::paceText(pace(), window_s_, columns);
  if (std::string reuse = reuse_.text(window_s_, columns); !reuse.empty()) text += "\n" + reuse;
  if (options_.heat) text += "\n" + wss::heatText(heat_, mappings_, columns, colour);
  return text;
}

int WssRolling::writePlot(const std::string& title) const {
  if (options_.plot.empty() || windows_ == 0) return 0;
  constexpr size_t kMaxRows = 160, kMaxColumns = 256;
  wss::HeatPicture picture = wss::pictureOf(heat_, kMaxRows, kMaxColumns);
  auto canvas = pictureCanvas(options_.plot, exporting::kHeatWidth, exporting::kHeatHeight, title);
  exporting::drawHeat(*canvas, picture, wss::rowNames(picture, mappings_), title);
  return writePicture(*canvas, NewFile(options_.plot, options_.force, "--plot"));
}

}  // namespace tidegauge::cli
