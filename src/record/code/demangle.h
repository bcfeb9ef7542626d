// C++ names as people write them: "_Z3addPfi" → "add(float*, int)". Other names are unchanged.
//
// Names come from other programs. A few bytes can expand to gigabytes, by references to earlier
// parts. A name with too many of them is unchanged, and no result is longer than 4 KiB.
#pragma once

#include <string>
#include <string_view>

namespace tidegauge::record {

std::string demangled(std::string_view name);

}  // namespace tidegauge::record
