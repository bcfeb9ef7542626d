// The words of an advice (analysis/oom/advice.h): one to three sentences, "Try …", and the line to
// copy.
//
//   kExpandable → "Try expandable_segments:True. 807 MiB were in 27 free ranges. …"
//                 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/oom/advice.h"
#include "report/words/sentence.h"

namespace tidegauge::report {

std::string adviceText(const analysis::AnalysedTrace& analysed, const analysis::Advice& advice);

// The line to copy: the environment variable with all settings, or the call. Empty: no single line
// does it.
std::string copyLine(const analysis::AnalysedTrace& analysed, const analysis::Advice& advice);

// "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", quoted where a shell requires it.
std::string environmentLine(const std::string& conf);
// In a list: "max_split_size_mb:128", "release of graph pool 3", "empty_cache() at step 700".
std::string shortName(const analysis::AnalysedTrace& analysed, const analysis::Advice& advice);

// "Does not help in a replay: max_split_size_mb:128. Helps in a replay, but not enough: …"; empty:
// a replay disproves none of it.
std::string disprovedWords(const analysis::AnalysedTrace& analysed,
                           const std::vector<analysis::Advice>& advice,
                           const char* none_helps = "Does not help");

// "In a replay with this setting, no request fails, and peak reserved memory is 4.2 GiB instead of
// 8.6 GiB." Absent: not replayed.
std::optional<Sentence> effectSentence(const analysis::Advice& advice, size_t place,
                                       const std::string& advice_table);

}  // namespace tidegauge::report
