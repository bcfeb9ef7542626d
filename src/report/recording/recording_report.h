// The part of `report` about a recording beside its memory: the process, its unfreed memory,
// refusals, kernels, copies. Empty for snapshots.
//
//   Process 4711 python
//   - python train.py: seen for 12.3 s; ended with exit status 3.
//     › SQL · SELECT … FROM processes WHERE is_this;
//
// Sections as in report_parts.h: every number has the SQL that gives it.
#pragma once

#include <string>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "model/recorded_work.h"
#include "report/words/section.h"

namespace tidegauge::report {

// Empty for snapshots. `rows` per table.
std::vector<Section> recordingSections(const analysis::AnalysedTrace& analysed, size_t rows);

// The keys are those of the sections: "process", "held_at_end", … Null for snapshots.
nlohmann::json recordingJson(const analysis::AnalysedTrace& analysed);

// How this trace's process ended, in a word: "exit 3", "SIGKILL", "ran on"; empty: unknown.
std::string shortEnding(const analysis::AnalysedTrace& analysed);

// The same for any row of processes.
std::string endingInAWord(int64_t ended_ns, int64_t exit_status, std::string_view end_reason);

// "ended with exit status 3", "was killed by SIGKILL (9)", as wait() gives the status.
std::string endingText(int64_t exit_status);

// ---- for the parts of it ------------------------------------------------------------------------

Section kernelsSection(const model::RecordedWork& work, size_t rows);
Section copiesSection(const model::RecordedWork& work);
Section deviceTimesSection(const model::RecordedWork& work, size_t rows);
Section deviceCopiesSection(const model::RecordedWork& work);

}  // namespace tidegauge::report
