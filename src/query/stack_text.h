// Stacks as text columns, made only for the rows that are shown.
//
//   WHERE text LIKE '%foo%'    each distinct frame is compared once; a stack matches if one of its
//                              frames does. 700,000 stacks share some thousand frames.
#pragma once

#include "analysis/analysed_trace.h"
#include "query/table.h"

namespace tidegauge::query {

// A text column whose key is a stack id.
Column& addStackText(Table& table, std::string name, const analysis::AnalysedTrace& trace,
                     Fill stack_ids);

// By stack: does a frame, as "file:line function", contain the lower-case literal?
std::vector<bool> stacksContaining(const model::Trace& trace, std::string_view literal);

}  // namespace tidegauge::query
