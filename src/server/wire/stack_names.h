// Names for a list of stacks in the page: as in the report, so that no two rows have the same text.
#pragma once

#include <span>
#include <vector>

#include "report/words/holder_names.h"
#include "server/http/json.h"

namespace tidegauge::server {

inline std::vector<report::HolderName> stackNames(const analysis::AnalysedTrace& analysed,
                                                  std::span<const model::StackId> stacks) {
  std::vector<analysis::StackGroup> groups;
  groups.reserve(stacks.size());
  for (model::StackId stack : stacks) groups.push_back({.stack = stack});
  return report::holderNames(analysed, groups, groups.size());
}

// Gives every row with a "stack_id" its "caller".
inline void nameCallers(const analysis::AnalysedTrace& analysed, json& rows) {
  std::vector<model::StackId> stacks;
  std::vector<json*> named;
  for (json& row : rows) {
    if (!row.contains("stack_id")) continue;
    const json& id = row["stack_id"];
    stacks.push_back(id.is_null() ? model::StackId() : model::StackId(id.get<uint32_t>()));
    named.push_back(&row);
  }
  std::vector<report::HolderName> names = stackNames(analysed, stacks);
  for (size_t i = 0; i < named.size(); ++i) (*named[i])["caller"] = shownText(names[i].caller);
}

}  // namespace tidegauge::server
