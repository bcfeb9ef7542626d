// The upper part of the picture of `frag --plot`: address × step, see frag_plot.h.
#pragma once

#include "export/plot/plot_canvas.h"
#include "export/plot/plot_lines.h"

namespace tidegauge::exporting {

// `x.panel` is its place; its legend is to the right.
void drawMap(Canvas& canvas, const analysis::AnalysedTrace& analysed,
             const analysis::DeviceAnalysis& device, const StepScale& x, bool plain_address);

}  // namespace tidegauge::exporting
