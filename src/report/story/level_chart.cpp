#include "report/story/level_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.h"
#include "base/text_layout.h"

namespace tidegauge::report {
namespace {

using analysis::Step;

constexpr size_t kMinLabelColumns = 11;  // "1,023.9 GiB"; hostile sizes are longer
constexpr size_t kEighths = 8;           // steps of a block character
// A capacity above this multiple of the peak would leave the chart empty: it is named only.
constexpr uint64_t kMostHeadroom = 4;

constexpr std::array<const char*, kEighths + 1> kBlocks = {" ", "▁", "▂", "▃", "▄",
                                                           "▅", "▆", "▇", "█"};

struct Column {
  uint64_t active_bytes = 0, reserved_bytes = 0;
  bool is_oom = false;
};

enum class Ink : uint8_t { kNone, kActive, kReserved, kCapacity, kOom };

constexpr const char* codeOf(Ink ink) {
  switch (ink) {
    case Ink::kActive:
      return "\033[36m";
    case Ink::kReserved:
    case Ink::kCapacity:
      return "\033[2m";
    case Ink::kOom:
      return "\033[31;1m";
    case Ink::kNone:
      break;
  }
  return "\033[0m";
}

class Chart {
 public:
  Chart(const analysis::DeviceAnalysis& device, const LevelChartOptions& options)
      : device_(device), options_(options) {
    Step steps = device.totals.steps();
    peak_bytes_ = std::max(device.totals.peakActive().bytes, device.totals.peakReserved().bytes);
    has_capacity_ = options.capacity_bytes && *options.capacity_bytes >= peak_bytes_ &&
                    *options.capacity_bytes / kMostHeadroom <= peak_bytes_;
    top_bytes_ = has_capacity_ ? *options.capacity_bytes : std::max<uint64_t>(peak_bytes_, 1);
    top_label_ = topLabel();
    label_columns_ = std::max(kMinLabelColumns, base::displayWidth(top_label_));
    size_t width = options.columns - std::min(options.columns, label_columns_ + 3);
    size_t count = std::min<size_t>(std::max<size_t>(width, 10), steps);
    for (size_t i = 0; i < count; ++i) {
      auto begin = static_cast<Step>(uint64_t{steps} * i / count);
      auto end = static_cast<Step>(uint64_t{steps} * (i + 1) / count);
      analysis::Span span = device.totals.span(begin, end);
      columns_.push_back({span.active_max, span.reserved_max});
    }
    // What was held before the first event may be the peak.
    columns_.front().active_bytes =
        std::max(columns_.front().active_bytes, device.totals.initial().active_bytes);
    columns_.front().reserved_bytes =
        std::max(columns_.front().reserved_bytes, device.totals.initial().reserved_bytes);
    for (Step step : options.oom_steps)
      if (step < steps) columns_[columnOf(step)].is_oom = true;
    // Few steps are drawn wider, so that the chart has a shape.
    repeat_ = std::max<size_t>(1, std::min<size_t>(width, 40) / std::max<size_t>(1, count));
  }

  std::vector<std::string> lines() {
    std::vector<std::string> lines;
    for (size_t row = 0; row < kChartRows; ++row) lines.push_back(rowLine(row));
    lines.push_back(axis());
    return lines;
  }

 private:
  size_t columnOf(Step step) const {  // the inverse of the borders in the constructor
    uint64_t steps = device_.totals.steps();
    return static_cast<size_t>(((uint64_t{step} + 1) * columns_.size() - 1) / steps);
  }

  // The capacity, or the highest that was held.
  std::string topLabel() const {
    bool is_active = device_.totals.peakActive().bytes == peak_bytes_;
    bool is_at_least = is_active ? options_.active_at_least : options_.reserved_at_least;
    const char* mark =
        has_capacity_ ? (options_.capacity_at_most ? "≤ " : "") : (is_at_least ? "≥ " : "");
    return mark + base::humanBytes(top_bytes_);
  }

  // Of the chart's height, in eighths of a row.
  size_t heightOf(uint64_t bytes) const {
    long double share = static_cast<long double>(bytes) / static_cast<long double>(top_bytes_);
    auto height = static_cast<size_t>(share * kChartRows * kEighths + 0.5L);
    return bytes > 0 ? std::max<size_t>(height, 1) : 0;
  }

  std::pair<Ink, const char*> cell(const Column& column, size_t row) const {
    size_t floor = (kChartRows - 1 - row) * kEighths;
    if (row == 0 && column.is_oom) return {Ink::kOom, "×"};
    size_t active = heightOf(column.active_bytes), reserved = heightOf(column.reserved_bytes);
    if (active > floor) return {Ink::kActive, kBlocks[std::min(active - floor, kEighths)]};
    if (reserved > floor && reserved - floor >= kEighths / 2) return {Ink::kReserved, "░"};
    if (has_capacity_ && row == 0) return {Ink::kCapacity, "┄"};
    return {Ink::kNone, " "};
  }

  std::string rowLine(size_t row) const {
    std::string label;
    if (row == 0) label = top_label_;
    if (row + 1 == kChartRows) label = "0";
    std::string line = "  " + base::padLeft(label, label_columns_) + " ";
    Ink ink = Ink::kNone;
    for (const Column& column : columns_) {
      auto [wanted, glyph] = cell(column, row);
      if (options_.colour && wanted != ink) line += codeOf(wanted);
      ink = wanted;
      for (size_t i = 0; i < repeat_; ++i) line += glyph;
    }
    if (options_.colour && ink != Ink::kNone) line += codeOf(Ink::kNone);
    // Without colour nothing follows the last block, so trailing blanks go.
    if (!options_.colour) line.resize(line.find_last_not_of(' ') + 1);
    return line;
  }

  std::string axis() const {
    auto atLeast = [](bool is) { return is ? " (at least)" : ""; };
    std::string legend = fmt::format("█ active{}  ░ reserved{}", atLeast(options_.active_at_least),
                                     atLeast(options_.reserved_at_least));
    if (has_capacity_)
      legend += options_.capacity_at_most ? "  ┄ capacity (at most)" : "  ┄ capacity";
    bool is_oom = std::ranges::any_of(columns_, &Column::is_oom);
    if (is_oom) legend += "  × out of memory";
    std::string text =
        fmt::format("step 0 to {}   {}", base::withCommas(device_.totals.steps() - 1), legend);
    size_t indent = label_columns_ + 3;  // below the columns, if there is room
    if (indent + base::displayWidth(text) > options_.columns) indent = 2;
    return base::cutTo(std::string(indent, ' ') + text, options_.columns);
  }

  const analysis::DeviceAnalysis& device_;
  const LevelChartOptions& options_;
  std::vector<Column> columns_;
  uint64_t peak_bytes_ = 0, top_bytes_ = 1;
  std::string top_label_;
  bool has_capacity_ = false;
  size_t label_columns_ = kMinLabelColumns;
  size_t repeat_ = 1;
};

}  // namespace

std::vector<std::string> levelChart(const analysis::DeviceAnalysis& device,
                                    const LevelChartOptions& options) {
  bool is_empty = device.totals.steps() == 0 || (device.totals.peakReserved().bytes == 0 &&
                                                 device.totals.peakActive().bytes == 0);
  if (is_empty) return {};
  return Chart(device, options).lines();
}

}  // namespace tidegauge::report
