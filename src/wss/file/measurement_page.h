// A measurement for the page: what `view` answers to api/working_set. docs/formats/page-api.md has
// every field.
#pragma once

#include <string>

#include "wss/file/measurement.h"

namespace tidegauge::wss {

// JSON.
std::string measurementPage(const Measurement& measurement);

}  // namespace tidegauge::wss
