// C++ names as people write them: "_Z3addPfi" → "add(float*, int)". What is no such name stays as
// it is.
//
// Names come from other programs. A few bytes can stand for gigabytes, by references to what
// was said before; a name with too many of them stays as it is, and no answer is longer than 4 KiB.
#pragma once

#include <string>
#include <string_view>

namespace tidegauge::record {

std::string demangled(std::string_view name);

}  // namespace tidegauge::record
