// Stacks as text columns, built only for the rows that are shown.
#pragma once

#include "analysis/trace/analysed_trace.h"
#include "query/scan/table.h"

namespace tidegauge::query {

// Longer texts end in "… 12 more frames".
inline constexpr size_t kMaxStackTextBytes = size_t{256} << 10;
std::string stackTextOf(const analysis::AnalysedTrace& trace, model::StackId stack);

// A text column whose key is a stack id.
Column& addStackText(Table& table, std::string name, const analysis::AnalysedTrace& trace,
                     Fill stack_ids);

}  // namespace tidegauge::query
