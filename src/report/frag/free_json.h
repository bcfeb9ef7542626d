// Free memory and what pins it as JSON, for all outputs that include it: report, frag and the page.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/oom/oom_verdict.h"
#include "report/frag/frag_report.h"

namespace tidegauge::report {

nlohmann::json poolJson(const analysis::AnalysedTrace& analysed, model::PoolId pool);

// ---- free lists ---------------------------------------------------------------------------------

// A list of the allocator: its owner, its bytes, its largest request.
nlohmann::json freeListJson(const analysis::AnalysedTrace& analysed, const FitRow& row);
// … and how it would serve the request.
nlohmann::json fitJson(const analysis::AnalysedTrace& analysed, const FitRow& row);
// For a verdict: the lists at the event, most reserved bytes first; the largest free parts in any
// segment; the list that the request belongs to.
nlohmann::json servableJson(const analysis::AnalysedTrace& analysed, const analysis::OomVerdict& v);
nlohmann::json piecesJson(const analysis::AnalysedTrace& analysed, const analysis::OomVerdict& v);
nlohmann::json freeListKeyJson(const model::Trace& trace, const analysis::FreeListKey& key);

// ---- pins ---------------------------------------------------------------------------------------

// The sums and the first `limit` stacks. If the oldest block of a stack is older than the
// recording, its age is unknown: null.
nlohmann::json pinsJson(const analysis::AnalysedTrace& analysed, const analysis::Pinned& pinned,
                        size_t limit);

}  // namespace tidegauge::report
