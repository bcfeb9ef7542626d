// The list of events beside the state: which steps it shows, and the position of a step in it.
//
//   all events            0 1 2 3 4 5 6 7 …          nothing is stored
//   action=oom            57 903                     the steps, once per filter
//   nearest to step 60    index 0
//
// Cost: one pass over the events per filter, a few ns each; 4 bytes per passing event.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/labels/text_pattern.h"
#include "analysis/trace/analysed_trace.h"
#include "view/filter/search_words.h"

namespace tidegauge::view {

using analysis::Step;

struct EventFilter {
  uint32_t actions = 0;             // a bit per model::Action; 0 = all; unknown ones are one bit
  std::optional<uint64_t> address;  // inside the event's block or segment
  std::optional<uint32_t> version;  // PyTorch's n in b7f…_n
  std::optional<SizeRange> size;    // of the event
  const analysis::TextPattern* stack = nullptr;  // nullptr: any

  bool everything() const { return actions == 0 && !address && !size && stack == nullptr; }
};
uint32_t actionBit(model::Action action);

// The steps that pass, increasing.
std::vector<Step> matchingSteps(const analysis::AnalysedTrace& analysed,
                                const model::Device& device, const EventFilter& filter);

// The index of the step in the list, else of the last one before it, else 0.
size_t nearestIndex(const std::vector<Step>& steps, Step step);

}  // namespace tidegauge::view
