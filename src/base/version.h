// The version of the program, as project() in CMakeLists.txt has it: "0.1.0".
#pragma once

#include <string_view>

namespace tidegauge::base {

std::string_view version();

}  // namespace tidegauge::base
