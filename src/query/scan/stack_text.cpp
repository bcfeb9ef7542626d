#include "query/scan/stack_text.h"

#include "query/scan/columns.h"
#include "query/scan/like.h"

namespace tidegauge::query {

std::string stackTextOf(const analysis::AnalysedTrace& trace, model::StackId stack) {
  return trace.labels.text(stack, kMostStackTextBytes);
}

Column& addStackText(Table& table, std::string name, const analysis::AnalysedTrace& trace,
                     Fill stack_ids) {
  Column& column =
      addMadeText(table, std::move(name), "file:line function, one frame per line, innermost first",
                  std::move(stack_ids), [&trace](int64_t key) {
                    return stackTextOf(trace, model::StackId(static_cast<uint32_t>(key)));
                  });
  column.distinct = trace.trace.stacks.size();
  column.like = [&trace](const std::string& pattern) { return stacksLike(trace, pattern); };
  return column;
}

}  // namespace tidegauge::query
