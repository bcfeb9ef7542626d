#include "report/recording/settings_words.h"

#include <fmt/format.h>

namespace tidegauge::report {

std::string settingsWords(const model::AllocatorSettings& settings) {
  if (settings.conf.empty()) return "default";
  bool any_ignored = false;
  std::string words;
  for (const model::AskedSetting& part : settings.asked) {
    any_ignored |= part.differs;
    if (!words.empty()) words += ", ";
    words += part.key;
    if (!part.asked.empty()) words += ":" + part.asked;
    if (!part.differs) continue;
    // Only this setting depends on the platform: Windows, and older ROCm, have no such segments.
    words += part.key == "expandable_segments" && part.asked == "True"
                 ? " (asked for, not in effect on this platform)"
                 : fmt::format(" (asked for, not in effect: {})", part.in_effect);
  }
  return any_ignored ? words : settings.conf;
}

}  // namespace tidegauge::report
