#include "export/plot/plot_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/text_layout.h"

namespace tidegauge::exporting {

double tickOf(double top, bool binary) {
  if (!(top > 0)) return 1;
  if (binary) {
    double tick = std::exp2(std::ceil(std::log2(top / 6)));
    return std::max(1.0, tick);
  }
  double power = std::pow(10, std::floor(std::log10(top / 6)));
  for (double factor : {1.0, 2.0, 5.0}) {
    if (top / (power * factor) <= 6) return power * factor;
  }
  return power * 10;
}

double yOf(const LinePanel& panel, double value) {
  const Box& box = panel.x.panel;
  double share = panel.top > 0 ? std::clamp(value / panel.top, 0.0, 1.0) : 0;
  return box.y + box.height * (1 - share);
}

namespace {

constexpr double kMarkWidth = 16;
// The approximate width in a sans-serif font of that size.
double entryTextWidth(const std::string& text) {
  return 5.8 * static_cast<double>(base::displayWidth(text));
}

// A line with its name; without a colour, only the name. Returns the width of both.
double drawEntry(Canvas& canvas, const PlotLine& line, Point at) {
  double x = at.x;
  if (line.width > 0) {
    canvas.rule({x, at.y - 4}, {x + kMarkWidth, at.y - 4},
                {.colour = line.colour, .width = line.width, .dash = line.dash});
    x += kMarkWidth + 6;
  }
  canvas.text({x, at.y}, line.title, {.colour = PlotColours::kFaint, .size = 11});
  return x - at.x + entryTextWidth(line.title);
}

void drawLegendBeside(Canvas& canvas, const LinePanel& panel) {
  const Box& box = panel.x.panel;
  Point at = {box.x + box.width + 14, box.y + 10};
  for (const std::vector<PlotLine>* lines : {&panel.lines, &panel.also}) {
    for (const PlotLine& line : *lines) {
      drawEntry(canvas, line, at);
      at.y += 16;
    }
  }
}

// From right to left, so that the last ends at the edge of the panel.
void drawLegendAbove(Canvas& canvas, const LinePanel& panel) {
  const Box& box = panel.x.panel;
  constexpr double kBetween = 18;
  double width = -kBetween;
  for (const std::vector<PlotLine>* lines : {&panel.lines, &panel.also}) {
    for (const PlotLine& line : *lines) {
      width += (line.width > 0 ? kMarkWidth + 6 : 0) + entryTextWidth(line.title) + kBetween;
    }
  }
  Point at = {box.x + box.width - width, box.y - 10};
  for (const std::vector<PlotLine>* lines : {&panel.lines, &panel.also}) {
    for (const PlotLine& line : *lines) at.x += drawEntry(canvas, line, at) + kBetween;
  }
}

}  // namespace

void drawLines(Canvas& canvas, const LinePanel& panel) {
  const Box& box = panel.x.panel;
  canvas.text({box.x, box.y - 10}, panel.title,
              {.colour = PlotColours::kInk, .size = 13, .strong = true});
  canvas.text({box.x + 20 + 7.4 * static_cast<double>(panel.title.size()), box.y - 10}, panel.note,
              {.colour = PlotColours::kFaint, .size = 11});
  for (double tick : panel.ticks) {
    double y = std::round(yOf(panel, tick)) + 0.5;
    canvas.rule({box.x, y}, {box.x + box.width, y}, {.colour = PlotColours::kGrid});
    canvas.text({box.x - 8, y + 4}, panel.label(tick),
                {.colour = PlotColours::kFaint, .size = 11, .align = Align::kRight});
  }
  for (const PlotLine& line : panel.lines) {
    std::vector<Point> points;
    for (size_t i = 0; i < std::min(line.values.size(), panel.steps.size()); ++i) {
      // The state after a step lasts until the next one, so samples are drawn as a staircase.
      points.push_back({panel.x.at(panel.steps[i] + 0.5), yOf(panel, line.values[i])});
    }
    if (points.size() == 1) points.push_back({points[0].x + 4, points[0].y});
    canvas.line(points, {.colour = line.colour, .width = 1.5, .dash = line.dash});
  }
  panel.legend_above ? drawLegendAbove(canvas, panel) : drawLegendBeside(canvas, panel);
}

std::string timeLabel(uint64_t since_us, uint64_t longest_us) {
  constexpr uint64_t kSecond = 1'000'000;
  if (longest_us < 100 * kSecond) {
    return fmt::format("{:.3f} s", static_cast<double>(since_us) / 1e6);
  }
  if (longest_us < 10'000 * kSecond) return base::withCommas(since_us / kSecond) + " s";
  uint64_t minutes = since_us / kSecond / 60;
  return fmt::format("{} h {:02} m", base::withCommas(minutes / 60), minutes % 60);
}

void drawStepAxis(Canvas& canvas, const StepScale& x, double y, const TimeOf& time_of) {
  constexpr double kClear = 32;  // of the first label, which is in the middle of its step
  double width = static_cast<double>(x.last) - static_cast<double>(x.first) + 1;
  double tick = std::max(1.0, tickOf(width, false));
  canvas.text({x.panel.x - kClear, y}, "step",
              {.colour = PlotColours::kFaint, .size = 11, .align = Align::kRight});
  if (time_of) {
    canvas.text({x.panel.x - kClear, y + 13}, "time",
                {.colour = PlotColours::kFaint, .size = 11, .align = Align::kRight});
  }
  auto first = static_cast<uint64_t>(std::ceil(static_cast<double>(x.first) / tick));
  auto last = static_cast<uint64_t>(std::floor(static_cast<double>(x.last) / tick));
  for (uint64_t number = first; number <= last; ++number) {
    double step = static_cast<double>(number) * tick;
    canvas.text({x.at(step), y}, base::withCommas(static_cast<uint64_t>(step)),
                {.colour = PlotColours::kFaint, .size = 11, .align = Align::kMiddle});
    if (!time_of) continue;
    canvas.text({x.at(step), y + 13}, time_of(static_cast<analysis::Step>(step)),
                {.colour = PlotColours::kFaint, .size = 11, .align = Align::kMiddle});
  }
}

}  // namespace tidegauge::exporting
