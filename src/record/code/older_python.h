// Detects a Python that cannot name its functions, CPython before 3.12, by the files that a process
// maps.
//
//   olderPython("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0")   "3.11"
//   olderPython("/usr/bin/python3.12")                              ""
#pragma once

#include <string>
#include <string_view>

namespace tidegauge::record {

// "3.11"; empty: not Python, or one that names its functions on request.
std::string olderPython(std::string_view path);

}  // namespace tidegauge::record
