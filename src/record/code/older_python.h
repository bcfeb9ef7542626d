// Which Python tells nobody the names of its functions: CPython before 3.12, told by what a process
// has mapped.
//
//   olderPython("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0")   "3.11"
//   olderPython("/usr/bin/python3.12")                              ""
#pragma once

#include <string>
#include <string_view>

namespace tidegauge::record {

// "3.11"; empty: no Python, or one that names its functions where it is asked to.
std::string olderPython(std::string_view path);

}  // namespace tidegauge::record
