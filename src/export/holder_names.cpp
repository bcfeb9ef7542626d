#include "export/holder_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.h"

namespace tidegauge::exporting {
namespace {

using analysis::AnalysedTrace;
using analysis::FrameId;
using analysis::StackId;

constexpr size_t kMostFrames = 1000;  // of a stack that are compared

// Innermost first.
std::vector<FrameId> framesOf(const AnalysedTrace& analysed, StackId stack) {
  if (!stack.valid()) return {};
  const FrameId* frames = analysed.trace.stacks.framesOf(stack);
  size_t depth = std::min<size_t>(analysed.trace.stacks.depth(stack), kMostFrames);
  return {frames, frames + depth};
}

// The frame that the fewest of the others have; runtime noise only if nothing else tells them
// apart.
FrameId tellingFrame(const AnalysedTrace& analysed, const std::vector<FrameId>& frames,
                     const std::map<uint32_t, size_t>& stacks_with) {
  FrameId best;
  for (bool noise : {false, true}) {
    for (FrameId frame : frames) {
      if (analysed.labels.isNoise(frame) != noise) continue;
      bool rarer = !best.valid() || stacks_with.at(frame.value) < stacks_with.at(best.value);
      if (rarer) best = frame;
    }
    if (best.valid() && stacks_with.at(best.value) == 1) break;
  }
  return best;
}

void addNumber(StackId stack, HolderName& name) {
  name.caller =
      fmt::format("{}{}(stack {})", name.caller, name.caller.empty() ? "" : " ", stack.value);
}

void setApart(const AnalysedTrace& analysed, const std::vector<analysis::StackGroup>& groups,
              const std::vector<size_t>& rows, std::vector<HolderName>& names) {
  std::map<uint32_t, size_t> stacks_with;  // by frame
  for (size_t row : rows) {
    std::set<uint32_t> own;
    for (FrameId frame : framesOf(analysed, groups[row].stack)) own.insert(frame.value);
    for (uint32_t frame : own) ++stacks_with[frame];
  }
  std::map<std::string, size_t> rows_with;  // by the new caller
  for (size_t row : rows) {
    FrameId frame = tellingFrame(analysed, framesOf(analysed, groups[row].stack), stacks_with);
    // A stack whose frames the others have too keeps its caller.
    bool tells = frame.valid() && stacks_with.at(frame.value) < rows.size();
    if (tells) names[row].caller = analysed.labels.frameLabel(frame);
    ++rows_with[names[row].caller];
  }
  for (size_t row : rows) {  // the same frames in another order or number: only the id is left
    if (rows_with[names[row].caller] == 1) continue;
    addNumber(groups[row].stack, names[row]);
  }
}

}  // namespace

std::string oneName(const HolderName& name) {
  return name.caller.empty() ? name.label : name.label + " ‹ " + name.caller;
}

std::string oneName(const AnalysedTrace& analysed, StackId stack) {
  return oneName(HolderName{analysed.labels.label(stack), analysed.labels.caller(stack)});
}

std::string withoutStack(uint64_t older_bytes, uint64_t all_bytes) {
  if (older_bytes == 0) return "no stack recorded";
  if (older_bytes == all_bytes) return "older than the recording, no stack";
  return fmt::format("no stack recorded, {} of it older than the recording",
                     base::humanBytes(older_bytes));
}

std::vector<HolderName> holderNames(const AnalysedTrace& analysed,
                                    const std::vector<analysis::StackGroup>& groups, size_t limit) {
  std::vector<HolderName> names;
  std::map<std::pair<std::string, std::string>, std::vector<size_t>> same;
  for (size_t row = 0; row < std::min(limit, groups.size()); ++row) {
    StackId stack = groups[row].stack;
    if (!stack.valid()) {
      names.push_back({withoutStack(groups[row].older_bytes, groups[row].block_bytes), ""});
      continue;
    }
    names.push_back({analysed.labels.label(stack), analysed.labels.caller(stack)});
    same[{names[row].label, names[row].caller}].push_back(row);
  }
  for (const auto& [name, rows] : same) {
    if (rows.size() > 1) setApart(analysed, groups, rows, names);
  }
  // What sets rows apart may be what another row has for a caller.
  std::map<std::string, std::vector<size_t>> alike;
  for (size_t row = 0; row < names.size(); ++row) {
    if (groups[row].stack.valid()) alike[oneName(names[row])].push_back(row);
  }
  for (const auto& [name, rows] : alike) {
    if (rows.size() == 1) continue;
    for (size_t row : rows) addNumber(groups[row].stack, names[row]);
  }
  return names;
}

}  // namespace tidegauge::exporting
