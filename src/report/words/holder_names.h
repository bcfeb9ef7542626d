// Names for the rows of a list of holders: of a stack the one that it has everywhere
// (analysis/stack_names.h). Without one: "no stack recorded" of what was allocated in the
// recording, "older than the recording, no stack" of what was there before it, both in one row if
// it is both.
//
// Rows stay one per stack, so that each can be asked for.
#pragma once

#include <string>
#include <vector>

#include "analysis/trace/analysed_trace.h"

namespace tidegauge::report {

using HolderName = analysis::StackName;
using analysis::oneName;

// Of the first `limit` groups. Without a stack, `older_bytes` of `block_bytes` say which they are.
std::vector<HolderName> holderNames(const analysis::AnalysedTrace& analysed,
                                    const std::vector<analysis::StackGroup>& groups, size_t limit);

// Of a stack that stands alone.
std::string oneName(const analysis::AnalysedTrace& analysed, analysis::StackId stack);
std::string withoutStack(uint64_t older_bytes, uint64_t all_bytes);

}  // namespace tidegauge::report
