// What a file of measurements leaves out, takes in or does not know, in sentences: for the terminal
// and for the page.
#pragma once

#include <string>
#include <vector>

#include "wss/file/measurement.h"

namespace tidegauge::wss {

std::vector<std::string> notesOf(const Measurement& measurement);

}  // namespace tidegauge::wss
