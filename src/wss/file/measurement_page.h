// A measurement for the page: the answer of `view` to api/working_set. docs/formats/page-api.md
// lists every field.
#pragma once

#include <string>

#include "wss/file/measurement.h"

namespace tidegauge::wss {

// JSON.
std::string measurementPage(const Measurement& measurement);

}  // namespace tidegauge::wss
