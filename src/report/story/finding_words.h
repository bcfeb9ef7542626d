// The words of a finding (analysis/findings.h): the same for text, JSON and page.
//
//   "Memory at the peak that was allocated before the recording (12 blocks in the whole recording):
//    3.0 MiB"
#pragma once

#include <optional>

#include "analysis/findings.h"
#include "base/format.h"
#include "report/words/sentence.h"

namespace tidegauge::report {

struct FindingWords {
  std::vector<Part> parts;
  std::optional<uint64_t> bytes;         // what follows the words; absent: nothing
  std::optional<base::ByteUnit> unit{};  // of the headline, if it states the same bytes
  std::optional<Link> link;
};

FindingWords findingWords(const analysis::AnalysedTrace& analysed,
                          const analysis::DeviceSummary& summary, const analysis::Finding& finding);

// With its bytes and its SQL, without a full stop.
Sentence findingSentence(const analysis::AnalysedTrace& analysed,
                         const analysis::DeviceSummary& summary, const analysis::Finding& finding);

// Of the headline on an out-of-memory event: request, driver's free and free inside segments.
std::optional<base::ByteUnit> headlineUnit(const analysis::OomReport& oom);

// A window of the timeline around a step: the last twentieth before it, a little after.
Link timelineAround(const analysis::DeviceSummary& summary, analysis::Step step);
Link timeline();

}  // namespace tidegauge::report
