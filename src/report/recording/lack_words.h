// What a recording lacks, in words: kinds of events that were left out, gaps, unknown requests.
//
//   "The recording has no alloc events, although allocations happened (skip_actions of …)."
//   "≤: at most, because …"
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/summary.h"
#include "report/words/sentence.h"

namespace tidegauge::report {

// Below the table of totals: what its marks mean.
std::vector<std::string> lackWords(const analysis::PeakReport& peak, bool knows_requests);

// For the story of a device: which kinds are missing, and what follows from that.
std::vector<Sentence> lackSentences(const analysis::AnalysedTrace& analysed,
                                    const analysis::DeviceSummary& summary);

// For the sections that follow from the lives of blocks; absent if all are recorded.
std::optional<Sentence> drawnLives(const analysis::DeviceSummary& summary);

// "at most 127 MiB and at least 63.0 MiB", "at least 54.0 MiB", "113 MiB"
std::string boundedActive(const analysis::PeakReport& peak);
std::string boundedReserved(const analysis::PeakReport& peak, uint64_t reserved_bytes);
// SQL for the columns of `devices` with these bounds: ", …", or nothing.
const char* boundColumns(const analysis::PeakReport& peak);

// Why a device has no events, in words; what to do, if it helps.
Sentence whyNoEvents(const analysis::AnalysedTrace& analysed, const model::Device& device);

}  // namespace tidegauge::report
