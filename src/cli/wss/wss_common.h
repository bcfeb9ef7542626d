// What wss of one process and of several have in common: options as the measurement wants them, and
// the end.
#pragma once

#include <cstdint>
#include <string>

#include "cli/wss/real_clock.h"
#include "cli/wss/wss_command.h"
#include "wss/choice/choose.h"
#include "wss/output/printer.h"

namespace tidegauge::cli {

// `text` was checked to be a number of seconds before.
int64_t nanosecondsOf(double seconds);
int64_t nanosecondsOf(const std::string& text);

wss::PrintOptions printOptions(const WssOptions& options);
// Of --json or --jsonl.
wss::JsonForm jsonForm(const WssOptions& options);

// What text and JSON report beside the figures, and rows alone cannot: on standard error.
void complainOfLimits(const wss::Backend& backend);

// The exit code of a measurement with `code`; if it was ended before any row, a line says so.
int endOfMeasurement(int code, const RealClock& clock, int rows);

}  // namespace tidegauge::cli
