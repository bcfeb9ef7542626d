// The picture of `frag --plot`: a timeline of the memory layout above the fragmentation figures.
//
//   ┌──────────────────────┐ address × step: every allocation a rectangle over its life, dark =
//   │ ▓▓▓░░  ▒▒▒▒  ▓▓▓▓▓▓▓ │ large (log scale); red = live at an out-of-memory event; white = hole;
//   │┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄│ a dashed line = omitted addresses that nobody owned
//   ├──────────────────────┤
//   │ free, pinned, hole   │
//   │ score and forecast   │
//   │ six features         │
//   └──────────────────────┘
//
// Lives are drawn, not samples: nothing between two columns is lost. Rectangles smaller than some
// pixels are merged into coverage, in the lightest shade (view/address_map.h).
#pragma once

#include <memory>
#include <string>

#include "export/plot/plot_canvas.h"
#include "export/plot/plot_lines.h"
#include "report/frag/frag_report.h"

namespace tidegauge::exporting {

inline constexpr uint32_t kPlotWidth = 1200;
inline constexpr uint32_t kPlotHeight = 1080;

struct FragPlotOptions {
  std::string name;            // of the file
  bool plain_address = false;  // the whole span from the first to the last address, 0 … 1
};

// On a canvas of kPlotWidth × kPlotHeight.
void drawFrag(Canvas& canvas, const analysis::AnalysedTrace& analysed,
              const report::FragReport& report, const FragPlotOptions& options);

// ---- for the parts of it ------------------------------------------------------------------------

// The upper part: address × step. `x.panel` is where it goes; its legend stands right of it.
void drawMap(Canvas& canvas, const analysis::AnalysedTrace& analysed,
             const analysis::DeviceAnalysis& device, const StepScale& x, bool plain_address);

}  // namespace tidegauge::exporting
