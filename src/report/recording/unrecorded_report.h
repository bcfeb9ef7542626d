// The part of `report` about programs of which nothing was recorded: text and JSON.
//
//   Nothing was recorded of
//   - paced (pid 4711): it did not load the library of --preload (linked statically, …). Record it
//     with eBPF (as root, without --preload), which needs no library.
//
// analysis/trace/unrecorded.h finds them.
#pragma once

#include <string>

#include "analysis/trace/unrecorded.h"
#include "report/words/section.h"
#include "report/words/text_options.h"

namespace tidegauge::report {

// Key "unrecorded"; its sentences are at most `rows`. No sentences: there is no such program.
Section unrecordedSection(const model::RecordedRun& run, size_t rows);
// "paced (pid 4711)", "pid 4711"
std::string unrecordedName(const analysis::UnrecordedProgram& program);
// The section as text; empty: there is no such program.
std::string unrecordedText(const model::RecordedRun& run, size_t rows, const TextOptions& options);

}  // namespace tidegauge::report
