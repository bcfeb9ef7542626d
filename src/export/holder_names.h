// Names for the rows of a list of holders, so that no two rows read the same.
//
//   model.py:8 forward ‹ train.py:63 main        label ‹ caller, the next frame of the user's code
//   model.py:8 forward ‹ linear.py:114 forward   two stacks with that label and caller: instead of
//   model.py:8 forward ‹ conv.py:460 forward     the caller, the first frame that sets them apart
//
// Without a stack: "no stack recorded" of what was allocated in the recording, "older than the
// recording, no stack" of what was there before it, both in one row if it is both.
//
// Rows stay one per stack, so that each can be asked for. O(depth of the stacks named).
#pragma once

#include <string>
#include <vector>

#include "analysis/analysed_trace.h"

namespace tidegauge::exporting {

struct HolderName {
  std::string label;
  std::string caller;  // empty if there is none and none is needed
};

// Of the first `limit` groups. Without a stack, `older_bytes` of `block_bytes` say which they are.
std::vector<HolderName> holderNames(const analysis::AnalysedTrace& analysed,
                                    const std::vector<analysis::StackGroup>& groups, size_t limit);

// "model.py:8 forward ‹ train.py:63 main"
std::string oneName(const HolderName& name);
// Of a stack that stands alone.
std::string oneName(const analysis::AnalysedTrace& analysed, analysis::StackId stack);
std::string withoutStack(uint64_t older_bytes, uint64_t all_bytes);

}  // namespace tidegauge::exporting
