// Sentences about what a file of measurements omits, includes or does not know, for the terminal
// and the page.
#pragma once

#include <string>
#include <vector>

#include "wss/file/measurement.h"

namespace tidegauge::wss {

std::vector<std::string> notesOf(const Measurement& measurement);

}  // namespace tidegauge::wss
