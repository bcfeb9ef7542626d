// Comma-separated values for all commands and the server.
//
//   name,bytes⏎            lines end with a line feed alone, so that $(… | tail -1) is the value;
//   "a, ""b""",512⏎        the carriage return of RFC 4180 would be part of it
#pragma once

#include <string>
#include <string_view>

namespace tidegauge::base {

inline constexpr char kCsvLineEnd = '\n';

// Quotes the field if needed.
void appendCsvField(std::string& line, std::string_view text);

}  // namespace tidegauge::base
