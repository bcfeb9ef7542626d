#include "analysis/labels/stack_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <span>
#include <string_view>

#include "analysis/labels/allocating_stack.h"
#include "model/recorded_work.h"

namespace tidegauge::analysis {
namespace {

constexpr size_t kMaxFrames = 1000;  // compared per stack
// Stacks that are compared: those with the most requests. Further ones are named by their number.
constexpr size_t kMaxCompared = 512;

using StacksWith = boost::unordered_flat_map<uint32_t, size_t>;  // by frame

// Innermost first.
model::FrameList framesOf(const model::Trace& trace, StackId stack) {
  return trace.stacks.framesOf(stack).first(std::min(trace.stacks.depth(stack), kMaxFrames));
}

constexpr std::string_view kCalled = "› ";

// The frame that the fewest other stacks contain; runtime noise only if nothing else distinguishes
// them. Invalid if there is none.
FrameId distinctFrame(const StackLabels& labels, const model::FrameList& frames,
                      const StacksWith& stacks_with) {
  FrameId best;
  for (bool noise : {false, true}) {
    for (FrameId frame : frames) {
      if (labels.isNoise(frame) != noise) continue;
      bool rarer = !best.valid() || stacks_with.at(frame.value) < stacks_with.at(best.value);
      if (rarer) best = frame;
    }
    if (best.valid() && stacks_with.at(best.value) == 1) break;
  }
  return best;
}

std::string numberOf(StackId stack) { return fmt::format("(stack {})", stack.value); }

void append(StackName& name, const std::string& number) {
  if (!name.caller.empty() && !number.empty()) name.caller += ' ';
  name.caller += number;
}

// Stacks that requested memory, those with the most requests first. For a trace without memory (two
// joined): all.
std::vector<StackId> askingStacks(const model::Trace& trace) {
  std::vector<bool> asks(trace.stacks.size(), trace.allocations.size() == 0);
  auto add = [&](StackId stack) {
    if (stack.valid()) asks[stack.index()] = true;
  };
  std::vector<uint64_t> bytes(trace.stacks.size());
  for (uint64_t row = 0; row < trace.allocations.size(); ++row) {
    StackId stack = allocatingStack(trace.allocations, row);
    add(stack);
    if (stack.valid()) bytes[stack.index()] += trace.allocations.block_bytes[row];
  }
  for (StackId stack : trace.segments.stack) add(stack);
  if (trace.work) {
    for (StackId stack : trace.work->held.stack) add(stack);
    for (StackId stack : trace.work->refused.stack) add(stack);
  }
  std::vector<StackId> stacks;
  for (uint32_t s = 0; s < asks.size(); ++s)
    if (asks[s] && trace.stacks.depth(StackId(s)) > 0) stacks.emplace_back(s);
  std::stable_sort(stacks.begin(), stacks.end(),
                   [&](StackId a, StackId b) { return bytes[a.index()] > bytes[b.index()]; });
  return stacks;
}

}  // namespace

std::string oneName(const StackName& name) {
  if (name.caller.empty()) return name.label;
  return name.label + (name.caller.starts_with(kCalled) ? " " : " ‹ ") + name.caller;
}

StackName StackNames::of(StackId stack) const {
  std::call_once(made_, [this] { make(); });
  if (stack.valid() && !names_[stack.index()].label.empty()) return names_[stack.index()];
  StackName name{labels_.label(stack), labels_.caller(stack)};
  if (stack.valid()) append(name, names_[stack.index()].caller);
  return name;
}

void StackNames::make() const {
  names_.resize(trace_.stacks.size());
  std::vector<StackId> stacks = askingStacks(trace_);
  for (; stacks.size() > kMaxCompared; stacks.pop_back())
    names_[stacks.back().index()].caller = numberOf(stacks.back());
  // Stacks with the same text, in the order of stacks.
  auto alike = [&] {
    boost::unordered_flat_map<std::string, std::vector<StackId>> groups;
    for (StackId stack : stacks) groups[oneName(names_[stack.index()])].push_back(stack);
    erase_if(groups, [](const auto& group) { return group.second.size() == 1; });
    return groups;
  };
  for (StackId stack : stacks)
    names_[stack.index()] = {labels_.label(stack), labels_.caller(stack)};
  for (const auto& [name, group] : alike()) setApart(group);
  // Stacks with the same frames in another order or number, or with a frame that another has as
  // caller: only the id distinguishes them.
  for (const auto& [name, group] : alike())
    for (StackId stack : group) append(names_[stack.index()], numberOf(stack));
}

void StackNames::setApart(const std::vector<StackId>& stacks) const {
  StacksWith stacks_with;
  std::vector<FrameId> own;
  auto less = [](FrameId a, FrameId b) { return a.value < b.value; };
  for (StackId stack : stacks) {
    model::FrameList frames = framesOf(trace_, stack);
    own.assign(frames.begin(), frames.end());
    std::sort(own.begin(), own.end(), less);
    own.erase(std::unique(own.begin(), own.end()), own.end());
    for (FrameId frame : own) ++stacks_with[frame.value];
  }
  for (StackId stack : stacks) {
    model::FrameList frames = framesOf(trace_, stack);
    size_t label = std::min(labels_.topPosition(stack), frames.size());
    FrameId inner = distinctFrame(labels_, frames.first(label), stacks_with);
    FrameId outer =
        distinctFrame(labels_, frames.from(std::min(label + 1, frames.size())), stacks_with);
    auto others = [&](FrameId frame) {
      return frame.valid() ? stacks_with.at(frame.value) : stacks.size();
    };
    // If the others contain these frames too, a stack keeps its caller.
    if (std::min(others(inner), others(outer)) >= stacks.size()) continue;
    std::string& caller = names_[stack.index()].caller;
    caller = others(outer) <= others(inner) ? labels_.frameLabel(outer)
                                            : std::string(kCalled) + labels_.frameLabel(inner);
  }
}

}  // namespace tidegauge::analysis
