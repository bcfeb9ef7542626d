// Lines over steps, with an axis of values: one panel of a plot.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "export/plot/plot_canvas.h"

namespace tidegauge::exporting {

struct PlotColours {
  static constexpr Colour kInk{15, 26, 32};
  static constexpr Colour kFaint{92, 109, 119};
  static constexpr Colour kGrid{224, 231, 233};
  static constexpr Colour kAccent{11, 100, 120};
  static constexpr Colour kReserved{168, 106, 0};
  static constexpr Colour kDanger{196, 22, 42};
};

// The positions of steps on the page: the same for all panels of a plot.
struct StepScale {
  analysis::Step first = 0;
  analysis::Step last = 0;  // its end is the right edge
  Box panel;
  double at(double step) const {
    double width = static_cast<double>(last) - static_cast<double>(first) + 1;
    return panel.x + panel.width * (step - static_cast<double>(first)) / width;
  }
};

struct PlotLine {
  std::string title;
  Colour colour;
  std::vector<double> values;  // one per step of the panel
  double dash = 0;
  double width = 2;  // in the legend; 0: text only
};

struct LinePanel {
  StepScale x;
  std::string title;
  std::string note;           // faint, after the title
  double top = 0;             // value at the upper edge; 0 is at the lower edge
  std::vector<double> ticks;  // values that get a line and a label
  std::function<std::string(double)> label;
  std::vector<analysis::Step> steps;  // of the values
  std::vector<PlotLine> lines;
  // If false, right of the panel; if true, in the line of the title, because something is drawn
  // beside the panel.
  bool legend_above = false;
  std::vector<PlotLine> also;  // in the legend, but drawn by others
};

void drawLines(Canvas& canvas, const LinePanel& panel);
// Labels of steps below a panel, about six round ones; below each its time, if `time_of` has one.
using TimeOf = std::function<std::string(analysis::Step)>;
void drawStepAxis(Canvas& canvas, const StepScale& x, double y, const TimeOf& time_of = {});
// Times since the first event, all in one form: "0.250 s", "125 s", "1 h 04 m". Empty: no times.
std::string timeLabel(uint64_t since_us, uint64_t longest_us);
// A round number such that 3 to 6 of its multiples fit below `top`.
double tickOf(double top, bool binary);
double yOf(const LinePanel& panel, double value);

}  // namespace tidegauge::exporting
