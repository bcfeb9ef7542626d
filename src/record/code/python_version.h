// Detects Python by the files that a process maps.
//
//   pythonVersion("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0")   "3.11"
//   pythonVersion("/usr/bin/python3.11-config")                      ""
#pragma once

#include <string>
#include <string_view>

namespace tidegauge::record {

std::string pythonVersion(std::string_view path);  // empty: not Python

}  // namespace tidegauge::record
