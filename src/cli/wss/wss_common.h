// What wss of one process and of several have in common.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/options/output.h"
#include "cli/wss/real_clock.h"
#include "wss/measure/choose.h"

namespace tidegauge::cli {

// Of seconds; a text was checked to be a number before.
int64_t nanosecondsOf(double seconds);
int64_t nanosecondsOf(const std::string& text);
// Names may hold any bytes.
std::string dumpedJson(const nlohmann::json& json, int indent);
// Why that back-end, and what its figures leave out: a line each, or more.
std::string choiceNotes(const wss::Choice& choice, size_t columns);
// What text and JSON tell beside the figures, and rows alone cannot: on standard error.
void complainOfLimits(const wss::Backend& backend);
// That the process had to wait for longer than it may; empty: it had not. `who`: "the process", …
std::string stallNote(int64_t stall_ns, double most_ms, std::string_view who, size_t columns);
// What programs are told of a measurement that ended before its last window; null: it did not, or a
// signal ended it.
nlohmann::json endedJson(const base::Status& status);
// The exit code of a measurement with `code`: if it was ended before there was a row, that is said.
int endOfMeasurement(int code, const RealClock& clock, int rows);

}  // namespace tidegauge::cli
