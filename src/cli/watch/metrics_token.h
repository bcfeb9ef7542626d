// The token of monitor --metrics-token FILE: the first line of a file that its owner alone reads.
#pragma once

#include <string>

#include "base/result.h"

namespace tidegauge::cli {

// Refused: a file that others may read, a token of less than 16 characters, one with spaces.
base::Result<std::string> metricsToken(const std::string& path);

}  // namespace tidegauge::cli
