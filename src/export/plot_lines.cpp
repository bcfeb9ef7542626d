#include "export/plot_lines.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"

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
  double legend_y = box.y + 10;
  for (const PlotLine& line : panel.lines) {
    std::vector<Point> points;
    for (size_t i = 0; i < std::min(line.values.size(), panel.steps.size()); ++i) {
      // The state after a step holds until the next one: what is drawn is a staircase of samples.
      points.push_back({panel.x.at(panel.steps[i] + 0.5), yOf(panel, line.values[i])});
    }
    if (points.size() == 1) points.push_back({points[0].x + 4, points[0].y});
    canvas.line(points, {.colour = line.colour, .width = 1.5, .dash = line.dash});
    double x = box.x + box.width + 14;
    canvas.rule({x, legend_y - 4}, {x + 16, legend_y - 4},
                {.colour = line.colour, .width = 2, .dash = line.dash});
    canvas.text({x + 22, legend_y}, line.title, {.colour = PlotColours::kFaint, .size = 11});
    legend_y += 16;
  }
}

void drawStepAxis(Canvas& canvas, const StepScale& x, double y) {
  double width = static_cast<double>(x.last) - static_cast<double>(x.first) + 1;
  double tick = std::max(1.0, tickOf(width, false));
  canvas.text({x.panel.x - 8, y}, "step",
              {.colour = PlotColours::kFaint, .size = 11, .align = Align::kRight});
  for (double step = std::ceil(static_cast<double>(x.first) / tick) * tick;
       step <= static_cast<double>(x.last); step += tick) {
    canvas.text({x.at(step), y}, base::withCommas(static_cast<uint64_t>(step)),
                {.colour = PlotColours::kFaint, .size = 11, .align = Align::kMiddle});
  }
}

}  // namespace tidegauge::exporting
