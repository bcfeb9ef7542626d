#include "report/words/holder_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"

namespace tidegauge::exporting {

std::string oneName(const analysis::AnalysedTrace& analysed, analysis::StackId stack) {
  return oneName(analysed.names.of(stack));
}

std::string withoutStack(uint64_t older_bytes, uint64_t all_bytes) {
  if (older_bytes == 0) return "no stack recorded";
  if (older_bytes == all_bytes) return "older than the recording, no stack";
  return fmt::format("no stack recorded, {} of it older than the recording",
                     base::humanBytes(older_bytes));
}

std::vector<HolderName> holderNames(const analysis::AnalysedTrace& analysed,
                                    const std::vector<analysis::StackGroup>& groups, size_t limit) {
  std::vector<HolderName> names;
  for (size_t row = 0; row < std::min(limit, groups.size()); ++row) {
    const analysis::StackGroup& group = groups[row];
    names.push_back(group.stack.valid()
                        ? analysed.names.of(group.stack)
                        : HolderName{withoutStack(group.older_bytes, group.block_bytes), ""});
  }
  return names;
}

}  // namespace tidegauge::exporting
