#include "export/heat/heat_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text_layout.h"
#include "export/plot/plot_lines.h"
#include "wss/words/heat_text.h"

namespace tidegauge::exporting {
namespace {

constexpr double kHeatLeft = 180, kTop = 52, kHeatRight = 24, kBottom = 56;
constexpr int kHeatShades = 16;  // of touched pages; few, so that one colour is one mark

// −1: nothing there; 0: untouched; 1 to kHeatShades.
int shadeOf(float heat) {
  if (heat < 0) return -1;
  if (heat == 0) return 0;
  return std::clamp(static_cast<int>(std::lround(heat * kHeatShades)), 1, kHeatShades);
}

Colour colourOf(int shade) {
  if (shade == 0) return PlotColours::kGrid;
  wss::HeatColour c = wss::heatColour(static_cast<float>(shade) / kHeatShades);
  return {c.r, c.g, c.b};
}

void drawCells(Canvas& canvas, const wss::HeatPicture& picture, const Box& panel) {
  // Each as wide as its time.
  double end_s = picture.ends_s.back();
  auto toX = [&](size_t column) {
    double share = end_s > 0
                       ? (column == 0 ? 0 : picture.ends_s[column - 1] / end_s)
                       : static_cast<double>(column) / static_cast<double>(picture.ends_s.size());
    return panel.x + panel.width * share;
  };
  double height = panel.height / static_cast<double>(picture.rows.size());
  std::map<int, std::vector<Box>> boxes;
  for (size_t row = 0; row < picture.rows.size(); ++row) {
    double y = panel.y + panel.height - height * static_cast<double>(row + 1);
    for (size_t x = 0; x < picture.ends_s.size();) {
      int shade = shadeOf(picture.at(row, x));
      size_t end = x + 1;
      while (end < picture.ends_s.size() && shadeOf(picture.at(row, end)) == shade) ++end;
      if (shade >= 0) boxes[shade].push_back({toX(x), y, toX(end) - toX(x), height});
      x = end;
    }
  }
  for (const auto& [shade, of] : boxes) canvas.boxes(of, colourOf(shade));
}

// Beside the first row of each mapping, where there is room for a line.
void drawNames(Canvas& canvas, const std::vector<std::string>& names, const Box& panel) {
  constexpr double kLine = 13;
  double height = panel.height / static_cast<double>(names.size());
  double last_y = panel.y + panel.height + kLine;
  for (size_t row = 0; row < names.size();) {
    size_t end = row + 1;
    while (end < names.size() && names[end] == names[row]) ++end;
    double middle = panel.y + panel.height - height * static_cast<double>(row + end) / 2;
    double edge = panel.y + panel.height - height * static_cast<double>(end);
    canvas.rule({panel.x - 6, edge}, {panel.x, edge}, {.colour = PlotColours::kFaint});
    if (last_y - middle >= kLine) {
      canvas.text({panel.x - 10, middle + 4}, base::cutMiddle(names[row], 26),
                  {.colour = PlotColours::kInk, .size = 11, .align = Align::kRight});
      last_y = middle;
    }
    row = end;
  }
}

void drawTimes(Canvas& canvas, const wss::HeatPicture& picture, const Box& panel) {
  double end_s = picture.ends_s.back(), y = panel.y + panel.height;
  double tick_s = tickOf(end_s, false);
  for (int i = 0; tick_s > 0 && i * tick_s <= end_s; ++i) {
    double x = panel.x + panel.width * i * tick_s / end_s;
    canvas.rule({x, y}, {x, y + 4}, {.colour = PlotColours::kFaint});
    canvas.text({x, y + 18}, fmt::format("{:.6g} s", i * tick_s),
                {.colour = PlotColours::kFaint, .size = 11, .align = Align::kMiddle});
  }
}

void drawScale(Canvas& canvas, const Box& panel) {
  constexpr double kSide = 12;
  double x = panel.x, y = panel.y + panel.height + 32;
  for (int shade : {0, 1, 4, 8, 12, kHeatShades}) {
    canvas.box({x, y, kSide, kSide}, colourOf(shade));
    x += kSide + 2;
  }
  canvas.text({x + 6, y + 10}, "untouched to all pages touched; white: no memory there",
              {.colour = PlotColours::kFaint, .size = 11});
}

}  // namespace

void drawHeat(Canvas& canvas, const wss::HeatPicture& picture,
              const std::vector<std::string>& names, const std::string& title) {
  Box panel{kHeatLeft, kTop, kHeatWidth - kHeatLeft - kHeatRight, kHeatHeight - kTop - kBottom};
  canvas.text({24, 30}, title, {.colour = PlotColours::kInk, .size = 15, .strong = true});
  if (picture.rows.empty()) {
    canvas.text({kHeatLeft, kTop + 24}, "No memory to draw.", {.colour = PlotColours::kFaint});
    return;
  }
  drawCells(canvas, picture, panel);
  drawNames(canvas, names, panel);
  drawTimes(canvas, picture, panel);
  drawScale(canvas, panel);
}

}  // namespace tidegauge::exporting
