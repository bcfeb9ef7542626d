// What lies free and who pins it as JSON, for every answer that tells it: report, frag and the
// page.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/oom/oom_verdict.h"
#include "report/frag/frag_report.h"

namespace tidegauge::report {

nlohmann::json poolJson(const analysis::AnalysedTrace& analysed, model::PoolId pool);

// ---- free lists ---------------------------------------------------------------------------------

// A list of the allocator: whose it is, how much lies in it, what it serves.
nlohmann::json freeListJson(const analysis::AnalysedTrace& analysed, const FitRow& row);
// … and what it would do with the request.
nlohmann::json fitJson(const analysis::AnalysedTrace& analysed, const FitRow& row);
// Of a verdict: the lists as they were at the event, most reserved bytes first; the largest free
// parts, wherever they lie; whose list a request asks.
nlohmann::json servableJson(const analysis::AnalysedTrace& analysed, const analysis::OomVerdict& v);
nlohmann::json piecesJson(const analysis::AnalysedTrace& analysed, const analysis::OomVerdict& v);
nlohmann::json freeListKeyJson(const model::Trace& trace, const analysis::FreeListKey& key);

// ---- pins ---------------------------------------------------------------------------------------

// The sums and the first `limit` stacks. The oldest block of a stack is of no known age if it was
// there before the recording: null.
nlohmann::json pinsJson(const analysis::AnalysedTrace& analysed, const analysis::Pinned& pinned,
                        size_t limit);

}  // namespace tidegauge::report
