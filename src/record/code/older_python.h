// Detects Python by the files that a process maps.
//
//   pythonVersion("/usr/bin/python3.12")                              "3.12"
//   olderPython("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0")   "3.11"
//   olderPython("/usr/bin/python3.12")                              ""
#pragma once

#include <string>
#include <string_view>

namespace tidegauge::record {

std::string pythonVersion(std::string_view path);  // empty: not Python
// One that cannot name its functions on request: CPython before 3.12.
std::string olderPython(std::string_view path);

}  // namespace tidegauge::record
