#include "wss/units.h"

#include <fmt/format.h>

namespace tidegauge::wss {

std::string fitted(uint64_t bytes, size_t width) {
  std::string text;
  for (int decimals = 2; decimals >= 0; --decimals) {
    text = fmt::format("{:.{}f}", mib(bytes), decimals);
    if (text.size() <= width) break;
  }
  return text;
}

}  // namespace tidegauge::wss
