// How a result of a replay reads: for `whatif`, for the section "replay" of `report`, and for the
// page.
//
//   "max_split_size_mb:128", "default settings"
//   "no request fails", "3 requests fail", "0 to 2 requests fail"
//   "The result is a forecast from step 14,967 on."
#pragma once

#include <string>

#include "analysis/what_if/what_if.h"

namespace tidegauge::report {

// PyTorch accepts settings with spaces as well; a line can be broken there.
std::string withSpaces(const std::string& conf);
// Of the complete string, without spaces.
std::string settingsName(const std::string& conf);

// "no request fails", "3 requests fail", "0 to 2 requests fail" if it depends on the driver's
// placement.
std::string failsWords(const analysis::Replayed& it);
// "3", "0 to 2".
std::string failedWords(const analysis::Replayed& it);
// "did in the recording", after the number of requests that fail with the own settings.
std::string asBeforeWords(const analysis::WhatIf& report, const char* otherwise);
// "peak reserved memory is 5.65 GiB or more instead of 5.96 GiB"
std::string peakOf(const analysis::WhatIf& report, const analysis::Replayed& it);
// Exact: a rounded-down size would not suffice.
std::string mibWords(uint64_t bytes);

// Without a full stop: "The replay differs from the recording in 3 of 221 events"
std::string differsWords(const replay::Verification& verified);
std::string forecastWords(analysis::Step from);
// Without a full stop: ties are broken by address.
std::string placementWords();
// A remedy outside the settings helps.
bool hasRemedy(const analysis::WhatIf& report);
// More was reserved before the recording than the device has.
bool isImpossible(const analysis::WhatIf& report);
std::string impossibleWords(const analysis::WhatIf& report);

}  // namespace tidegauge::report
