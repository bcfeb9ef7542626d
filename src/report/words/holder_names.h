// Names for the rows of a list of holders: for a stack, its usual name (analysis/stack_names.h).
// Without one: "no stack recorded" for memory allocated in the recording, "older than the
// recording, no stack" for older memory; one row names both if it includes both.
//
// Each stack has its own row, so that it can be queried.
#pragma once

#include <string>
#include <vector>

#include "analysis/trace/analysed_trace.h"

namespace tidegauge::report {

using HolderName = analysis::StackName;
using analysis::oneName;

// For the first `limit` groups. Without a stack, `older_bytes` of `block_bytes` decides between
// them.
std::vector<HolderName> holderNames(const analysis::AnalysedTrace& analysed,
                                    const std::vector<analysis::StackGroup>& groups, size_t limit);

// For a single stack.
std::string oneName(const analysis::AnalysedTrace& analysed, analysis::StackId stack);
std::string withoutStack(uint64_t older_bytes, uint64_t all_bytes);

}  // namespace tidegauge::report
