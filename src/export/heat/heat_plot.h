// The heat map of a process as a picture: addresses upwards, what is not mapped left out; time to
// the right.
#pragma once

#include <string>
#include <vector>

#include "export/plot/plot_canvas.h"
#include "wss/measure/heat_map.h"

namespace tidegauge::exporting {

inline constexpr uint32_t kHeatWidth = 1100, kHeatHeight = 640;

// `names`: of each row, from wss::rowNames.
void drawHeat(Canvas& canvas, const wss::HeatPicture& picture,
              const std::vector<std::string>& names, const std::string& title);

}  // namespace tidegauge::exporting
