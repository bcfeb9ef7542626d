// A measurement of a file for people: as `wss` printed it when it was taken, and what a long run
// adds.
#pragma once

#include <string>

#include "wss/file/measurement.h"

namespace tidegauge::wss {

// `top`: mappings that are listed.
std::string measurementText(const Measurement& measurement, size_t top, size_t columns,
                            bool colour);

}  // namespace tidegauge::wss
