#include "base/version.h"

namespace tidegauge::base {

std::string_view version() { return TIDEGAUGE_VERSION; }

}  // namespace tidegauge::base
