#include "report/what_if/result_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "report/words/peak_words.h"

namespace tidegauge::report {

using analysis::Replayed;
using analysis::WhatIf;

std::string withSpaces(const std::string& conf) {
  std::string spaced;
  for (size_t i = 0; i < conf.size(); ++i) {
    spaced += conf[i];
    bool is_key = i + 1 < conf.size() && conf[i + 1] >= 'a' && conf[i + 1] <= 'z';
    if (conf[i] == ',' && is_key) spaced += ' ';
  }
  return spaced;
}

std::string settingsName(const std::string& conf) {
  return conf.empty() ? "default settings" : conf;
}

std::string failedWords(const Replayed& it) {
  if (it.leastOoms() == it.mostOoms()) return base::withCommas(it.mostOoms());
  return fmt::format("{} to {}", base::withCommas(it.leastOoms()), base::withCommas(it.mostOoms()));
}

std::string failsWords(const Replayed& it) {
  if (it.leastOoms() < it.mostOoms()) return failedWords(it) + " requests fail";
  if (it.mostOoms() == 0) return "no request fails";
  return base::counted(it.mostOoms(), "request") + (it.mostOoms() == 1 ? " fails" : " fail");
}

std::string asBeforeWords(const WhatIf& report, const char* otherwise) {
  return report.ownIsAsRecorded() ? "did in the recording" : otherwise;
}

std::string peakOf(const WhatIf& report, const Replayed& it) {
  return peakReservedWords(it.peakReservedBytes(), report.own.peakReservedBytes(), it.rescued > 0);
}

std::string mibWords(uint64_t bytes) {
  return fmt::format("{} MiB", base::withCommas(bytes / replay::kMiB));
}

std::string differsWords(const replay::Verification& verified) {
  return fmt::format("The replay differs from the recording in {} of {}",
                     base::withCommas(verified.events_checked - verified.events_exact),
                     base::counted(verified.events_checked, "event"));
}

std::string forecastWords(analysis::Step from) {
  return fmt::format("The result is a forecast from step {} on.", base::withCommas(from));
}

std::string placementWords() {
  return "This version of PyTorch takes the lowest address among free blocks of equal size, so the "
         "result depends on where the driver places segments";
}

bool hasRemedy(const WhatIf& report) {
  return std::ranges::any_of(report.causes, [](const analysis::Advice& cause) {
    return cause.effect && cause.effect->helps;
  });
}

bool isImpossible(const WhatIf& report) {
  return report.own.reserved_at_start_bytes > report.availableBytes().value_or(UINT64_MAX);
}

std::string impossibleWords(const WhatIf& report) {
  return fmt::format(
      "{} were reserved before the recording began. On a device of {}, this program would not have "
      "come so far.",
      base::humanBytes(report.own.reserved_at_start_bytes),
      base::humanBytes(*report.availableBytes()));
}

}  // namespace tidegauge::report
