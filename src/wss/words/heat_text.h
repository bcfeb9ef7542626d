// A heat map for a terminal: time to the right, addresses upwards as in the pictures.
//
//   heap           ▒▒██░░····
//   libc.so.6      ··░░··
//   · ░ ▒ ▓ █ untouched to all touched
//
// With colours, each line shows two rows of the map (half blocks, 24 bits of colour).
#pragma once

#include <string>
#include <vector>

#include "wss/measure/heat_map.h"
#include "wss/pages/mappings.h"

namespace tidegauge::wss {

// A colour of the scale: 0 untouched to 1 completely touched. Chosen to be distinct on black and
// white.
struct HeatColour {
  uint8_t r = 0, g = 0, b = 0;
};
HeatColour heatColour(float heat);

// A name for each row of the picture: the mapping with the largest part of it; "" if none is known.
// `mappings` in the order of addresses.
std::vector<std::string> rowNames(const HeatPicture& picture,
                                  const std::vector<MappingUse>& mappings);

std::string heatText(const HeatMap& map, const std::vector<MappingUse>& mappings, size_t columns,
                     bool colour);

}  // namespace tidegauge::wss
