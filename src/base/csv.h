// Comma-separated values, as every command and the server write them.
//
//   name,bytes⏎            lines end with a line feed alone: $(… | tail -1) is the value itself,
//   "a, ""b""",512⏎        which the carriage return of RFC 4180 would be a part of
#pragma once

#include <string>
#include <string_view>

namespace tidegauge::base {

inline constexpr char kCsvLineEnd = '\n';

// Quoted if it must be.
void appendCsvField(std::string& line, std::string_view text);

}  // namespace tidegauge::base
