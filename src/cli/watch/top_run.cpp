// runTop where the recorder was built; see record_missing.cpp.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text_layout.h"
#include "cli/open_trace.h"
#include "cli/options/output.h"
#include "cli/options/terminal.h"
#include "cli/options/usage.h"
#include "cli/watch/live_session.h"
#include "cli/watch/screen.h"
#include "watch/top_table.h"

namespace tidegauge::cli {
namespace {

constexpr size_t kHeadLines = 2;  // above the table's heading

// What is on the screen, and what the keys do to it.
class Top {
 public:
  Top(const TopOptions& options, LiveSession& live)
      : live_(live),
        order_(watch::topOrderNamed(options.sort).value_or(watch::TopOrder::kLive)),
        filter_(options.filter) {}

  void look(int64_t now_ns) { rows_ = meter_.read(live_.session(), now_ns); }

  // False: the end.
  bool press(int key) {
    if (types_) {
      type(key);
      return true;
    }
    if (key == 'q') return false;
    if (opened_) {
      if (key == Key::kEscape || key == Key::kEnter || key == Key::kErase) opened_.reset();
      if (key == Key::kDown || key == 'j') ++first_line_;
      if ((key == Key::kUp || key == 'k') && first_line_ > 0) --first_line_;
      return true;
    }
    auto rows = shown();
    size_t selected = placeOfSelected(rows);
    if (key == 's') order_ = watch::next(order_);
    if (key == '/') types_ = true;
    if (key == Key::kEscape) filter_.clear();
    if ((key == Key::kDown || key == 'j') && selected + 1 < rows.size()) select(rows[selected + 1]);
    if ((key == Key::kUp || key == 'k') && selected > 0) select(rows[selected - 1]);
    if (key == Key::kEnter && selected < rows.size()) {
      opened_ = rows[selected].process;
      first_line_ = 0;
    }
    return true;
  }

  void draw(Screen& screen) {
    size_t columns = screen.columns();
    if (opened_) return drawProcess(screen, columns);
    auto rows = shown();
    std::vector<std::string> lines = {
        base::cutTo(" " + watch::topSummary(rows, live_.recorder().losses()), columns)};
    std::string keys =
        " s sort (" + std::string(name(order_)) + ")  / filter  ↑↓ Enter open  q quit";
    if (types_ || !filter_.empty())
      keys = fmt::format(" filter: {}{}  {}", base::printable(filter_), types_ ? "_" : "",
                         types_ ? "Enter" : "Esc clears it");
    lines.push_back(base::cutTo(keys, columns));
    for (std::string& line : watch::topLines(rows, order_, columns))
      lines.push_back(std::move(line));
    if (rows.empty())
      lines.push_back(base::cutTo(filter_.empty() ? " No process has called CUDA since top started."
                                                  : " No process matches the filter.",
                                  columns));
    size_t selected = placeOfSelected(rows);
    screen.draw(lines, rows.empty() ? -1 : static_cast<int>(kHeadLines + 1 + selected));
  }

 private:
  std::vector<watch::TopRow> shown() const { return arranged(rows_, order_, filter_); }
  void select(const watch::TopRow& row) { selected_ = {row.process, row.device}; }
  // The row that was selected, wherever it has moved to; the first if it is gone.
  size_t placeOfSelected(const std::vector<watch::TopRow>& rows) const {
    for (size_t i = 0; i < rows.size(); ++i)
      if (std::pair(rows[i].process, rows[i].device) == selected_) return i;
    return 0;
  }
  void type(int key) {
    constexpr size_t kMaxFilter = 64;
    if (key == Key::kEnter) types_ = false;
    if (key == Key::kEscape) {
      types_ = false;
      filter_.clear();
    }
    if (key == Key::kErase && !filter_.empty()) filter_.pop_back();
    if (key >= ' ' && key < 0x7f && filter_.size() < kMaxFilter) filter_ += static_cast<char>(key);
  }
  void drawProcess(Screen& screen, size_t columns) {
    std::vector<std::string> all = watch::processLines(live_.session(), *opened_, columns);
    size_t room = screen.rows() > 1 ? screen.rows() - 1 : 1;
    first_line_ = std::min(first_line_, all.size() > room ? all.size() - room : 0);
    std::vector<std::string> lines = {base::cutTo(" Esc back  ↑↓ scroll  q quit", columns)};
    for (size_t i = first_line_; i < all.size(); ++i) lines.push_back(std::move(all[i]));
    screen.draw(lines, 0);
  }

  LiveSession& live_;
  watch::TopMeter meter_;
  std::vector<watch::TopRow> rows_;
  watch::TopOrder order_;
  std::string filter_;
  bool types_ = false;  // into the filter
  std::pair<uint32_t, int32_t> selected_{};
  std::optional<uint32_t> opened_;
  size_t first_line_ = 0;
};

base::Status waitFor(LiveSession& live, double seconds) {
  int64_t end_ns = nowSinceEpoch_ns() + static_cast<int64_t>(seconds * 1e9);
  while (!LiveSession::stopped() && nowSinceEpoch_ns() < end_ns) TG_RETURN_IF_ERROR(live.step());
  return base::okStatus();
}

int once(const TopOptions& options, LiveSession& live) {
  watch::TopMeter meter;
  // Counts of launches and copies are read every second: a first look at what was there before.
  meter.read(live.session(), nowSinceEpoch_ns());
  if (auto status = waitFor(live, std::max(options.every_s, 1.1)); !status.ok())
    return reportError(status.error());
  auto order = watch::topOrderNamed(options.sort).value_or(watch::TopOrder::kLive);
  auto rows = arranged(meter.read(live.session(), nowSinceEpoch_ns()), order, options.filter);
  record::Losses losses = live.recorder().losses();
  Output out;
  if (options.json) {
    out.print("{}\n", watch::topJson(rows, losses).dump(2));
  } else {
    out.print("{}\n", watch::topSummary(rows, losses));
    for (const std::string& line : watch::topLines(rows, order, pageColumns()))
      out.print("{}\n", line);
  }
  return out.finish(0);
}

int interact(const TopOptions& options, LiveSession& live) {
  Screen screen;
  Top top(options, live);
  int64_t look_ns = 0;
  while (!LiveSession::stopped()) {
    if (auto status = live.step(); !status.ok()) return reportError(status.error());
    bool changed = false;
    while (auto key = screen.key()) {
      if (!top.press(*key)) return 0;
      changed = true;
    }
    if (int64_t now_ns = nowSinceEpoch_ns(); now_ns >= look_ns) {
      look_ns = now_ns + static_cast<int64_t>(options.every_s * 1e9);
      top.look(now_ns);
      changed = true;
    }
    if (changed) top.draw(screen);
  }
  return 0;
}

}  // namespace

int runTop(const TopOptions& options) {
  if (!options.once && (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1))
    return usageError("top needs a terminal, and standard output is not one",
                      "Print the table once with --once");
  auto live =
      LiveSession::start(options.targets, {.quiet = !options.once, .stacks = !options.once});
  if (!live.ok()) return reportError(live.error());
  return options.once ? once(options, *live.value()) : interact(options, *live.value());
}

}  // namespace tidegauge::cli
