#include "view/tables/event_list.h"

#include <algorithm>

namespace tidegauge::view {
namespace {

class EventMatch {
 public:
  EventMatch(const model::Trace& trace, const EventFilter& filter)
      : trace_(trace), e_(trace.events), filter_(filter) {
    if (filter.stack != nullptr) {
      stacks_ = analysis::stacksWith(trace, analysis::matchingFrames(trace, *filter.stack));
    }
  }

  bool has(uint64_t event) const {
    if (filter_.actions != 0 && (filter_.actions & actionBit(e_.action[event])) == 0) return false;
    if (filter_.size) {
      uint64_t bytes = e_.size_bytes[event];
      if (bytes == model::kUnknownBytes) return false;
      if (bytes < filter_.size->least_bytes || bytes > filter_.size->most_bytes) return false;
    }
    if (filter_.address && !isAround(event)) return false;
    if (filter_.stack == nullptr) return true;
    model::StackId stack = e_.stack[event];
    return stack.valid() && stacks_[stack.index()];
  }

 private:
  // For a block, its whole size counts: the recorded size is the requested one.
  bool isAround(uint64_t event) const {
    model::Action action = e_.action[event];
    if (action > model::Action::kSegmentUnmap) return false;  // no address
    uint64_t bytes = e_.size_bytes[event];
    if (action <= model::Action::kFree && e_.subject[event] != UINT32_MAX) {
      uint32_t row = e_.subject[event];
      bytes = std::max(bytes, trace_.allocations.block_bytes[row]);
      if (filter_.version && trace_.allocations.version[row] != *filter_.version) return false;
    } else if (filter_.version) {
      return false;
    }
    uint64_t begin = e_.address[event];
    if (filter_.version) return begin == *filter_.address;
    return begin <= *filter_.address && *filter_.address - begin < std::max<uint64_t>(bytes, 1);
  }

  const model::Trace& trace_;
  const model::Events& e_;
  const EventFilter& filter_;
  std::vector<bool> stacks_;
};

}  // namespace

uint32_t actionBit(model::Action action) {
  return uint32_t{1} << std::min(static_cast<uint8_t>(action),
                                 static_cast<uint8_t>(model::Action::kFirstUnknown));
}

std::vector<Step> matchingSteps(const analysis::AnalysedTrace& analysed,
                                const model::Device& device, const EventFilter& filter) {
  EventMatch match(analysed.trace, filter);
  std::vector<Step> steps;
  for (uint64_t event = device.event_begin; event < device.event_end; ++event) {
    if (match.has(event)) steps.push_back(static_cast<Step>(event - device.event_begin));
  }
  return steps;
}

size_t nearestIndex(const std::vector<Step>& steps, Step step) {
  auto after = std::upper_bound(steps.begin(), steps.end(), step);
  return after == steps.begin() ? 0 : static_cast<size_t>(after - steps.begin()) - 1;
}

}  // namespace tidegauge::view
