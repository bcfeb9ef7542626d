// The results of `tidegauge whatif` for one device, as a page for the terminal and as JSON
// (docs/explain/replay.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/what_if/what_if.h"

namespace tidegauge::report {

struct WhatIfPage {
  size_t columns = 100;
  bool colour = false;
  bool verify_only = false;
};
std::string whatIfText(const analysis::AnalysedTrace& analysed,
                       const analysis::DeviceAnalysis& device, const analysis::WhatIf& report,
                       const WhatIfPage& options);

nlohmann::json whatIfJson(const analysis::AnalysedTrace& analysed,
                          const analysis::DeviceAnalysis& device, const analysis::WhatIf& report,
                          bool verify_only);
// {"events_checked", "events_exact", "policy", "first_divergence", …}
nlohmann::json verifyJson(const analysis::AnalysedTrace& analysed,
                          const analysis::DeviceAnalysis& device,
                          const replay::Verification& verified);

// {"proven", "factor", "batch", "scaling_bytes", …}; null: no request fails.
nlohmann::json fitJson(const std::optional<analysis::FitFactor>& fit);
// "0.81": the replay proved this share itself, so it is not a rounded figure.
std::string factorWords(const analysis::FitFactor& fit);
// "parameters 138 MiB, optimizer 277 MiB", largest first.
std::string constantWords(const analysis::FitFactor& fit);
// How much less the program would have to hold; empty: not proven.
std::vector<std::string> fitSentences(const analysis::FitFactor& fit);

// The sentences about it, most useful first; each ends with a full stop.
std::vector<std::string> whatIfSentences(const analysis::AnalysedTrace& analysed,
                                         const analysis::WhatIf& report);

}  // namespace tidegauge::report
