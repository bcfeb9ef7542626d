// Questions about a trace, with options as JSON; answers as the command line gives them.
//
//   answer(trace, "report", {"device": 0})  →  as `tidegauge report FILE --json --device 0`
//
// Questions: report, report_text, frag, frag_text, frag_svg, whatif, whatif_text, curve, schema.
// Options have the names of the command line's; sizes are bytes (python/tidegauge/trace.py).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "python/engine/open_file.h"

namespace tidegauge::python {

// As text; invalid UTF-8 of the file is replaced.
std::string dumped(const nlohmann::json& value);

// Errors: kUsage for what the trace does not have; kLimit after a stop.
base::Result<std::string> answer(const OpenTrace& trace, const std::string& question,
                                 const nlohmann::json& options, std::stop_token stop);

// The comparison of two traces, or of more as ranks of a job; "diff" (JSON) or "diff_text".
base::Result<std::string> compare(const std::vector<const OpenTrace*>& traces,
                                  const std::string& question, const nlohmann::json& options);

}  // namespace tidegauge::python
