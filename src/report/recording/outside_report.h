// Text and JSON of memory outside PyTorch (analysis/outside.h), for `report --with`.
//
//   Memory outside PyTorch, by run.sqlite: pid 41 python
//     - 212 of 212 pieces of PyTorch's segments are memory of this process …
//                        at the peak   out of memory   at the end
//       reserved            1.21 GiB        1.90 GiB     812 MiB
//       outside              301 MiB         512 MiB     512 MiB
//
// JSON: docs/formats/json.md, "Memory outside PyTorch".
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/compare/outside.h"
#include "report/words/text_options.h"

namespace tidegauge::report {

// `options.name` is the recording's.
std::string outsideText(const analysis::Outside& outside, const TextOptions& options);
nlohmann::json outsideJson(const analysis::Outside& outside);

}  // namespace tidegauge::report
