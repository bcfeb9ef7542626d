// A measurement in a file for people: as `wss` printed it when it was taken, plus summaries of a
// long run.
#pragma once

#include <string>

#include "wss/file/measurement.h"

namespace tidegauge::wss {

// `top`: number of listed mappings.
std::string measurementText(const Measurement& measurement, size_t top, size_t columns,
                            bool colour);

}  // namespace tidegauge::wss
