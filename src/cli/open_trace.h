// Opens what a user names on the command line: every FILE ("-" = standard input) becomes one or
// more traces, read, joined and indexed, with a progress bar on stderr for work over half a second.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analysis/analysed_trace.h"
#include "base/result.h"

namespace tidegauge::cli {

using Traces = std::vector<std::unique_ptr<analysis::AnalysedTrace>>;

// Stops at the first file that cannot be read; the error then names it.
base::Result<Traces> openTraces(const std::vector<std::string>& paths);

// "tidegauge: FILE: what (at byte N). hint" on stderr; returns the exit code for the kind of error.
int reportError(const base::Error& error);

}  // namespace tidegauge::cli
