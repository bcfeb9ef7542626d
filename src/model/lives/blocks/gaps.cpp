#include "model/lives/blocks/gaps.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>

namespace tidegauge::model {
namespace {

struct SeenPlace {
  Step step = kNoStep;  // of the last event there
  bool live = false, requested = false;
};

// Pairs of steps of which the second cannot follow the first.
class Leaps {
 public:
  explicit Leaps(const std::vector<Step>& seams) : seams_(seams), is_gap_(seams.size()) {}

  void add(Step from, Step to) {
    auto first = std::upper_bound(seams_.begin(), seams_.end(), from);
    auto end = std::upper_bound(first, seams_.end(), to);
    if (first == end) return;  // a contradiction of another kind
    auto begin = static_cast<size_t>(first - seams_.begin());
    auto count = static_cast<size_t>(end - first);
    if (count == 1) {
      is_gap_[begin] = true;
    } else {
      unsure_.emplace_back(begin, begin + count);
    }
  }

  std::vector<Step> gaps() {
    for (auto [begin, end] : unsure_) {
      auto first = is_gap_.begin() + static_cast<ptrdiff_t>(begin);
      auto last = is_gap_.begin() + static_cast<ptrdiff_t>(end);
      if (std::find(first, last, true) == last) is_gap_[end - 1] = true;
    }
    std::vector<Step> gaps;
    for (size_t i = 0; i < seams_.size(); ++i) {
      if (is_gap_[i]) gaps.push_back(seams_[i]);
    }
    return gaps;
  }

 private:
  const std::vector<Step>& seams_;
  std::vector<bool> is_gap_;
  std::vector<std::pair<size_t, size_t>> unsure_;
};

}  // namespace

std::vector<Step> findGaps(const Trace& trace, const Device& device) {
  if (device.seams.empty()) return {};
  Leaps leaps(device.seams);
  boost::unordered_flat_map<uint64_t, SeenPlace> blocks, segments;
  for (Step step = 0; step < device.steps(); ++step) {
    uint64_t event = device.event_begin + step;
    Action action = trace.events.action[event];
    bool of_segment = action == Action::kSegmentAlloc || action == Action::kSegmentFree;
    if (action > Action::kFree && !of_segment) continue;
    SeenPlace& place = (of_segment ? segments : blocks)[trace.events.address[event]];
    bool begins = action == Action::kAlloc || action == Action::kSegmentAlloc;
    bool seen = place.step != kNoStep;
    bool requests = action == Action::kFreeRequested;
    bool odd = begins ? place.live : !place.live || (requests && place.requested);
    if (seen && odd) leaps.add(place.step, step);
    place = {step, begins || requests, requests};
  }
  return leaps.gaps();
}

Step firstGap(const Device& device, Step from, Step to) {
  auto at = std::lower_bound(device.gaps.begin(), device.gaps.end(), from);
  return at != device.gaps.end() && *at <= to ? *at : kNoStep;
}

Step lastGap(const Device& device, Step from, Step to) {
  auto at = std::upper_bound(device.gaps.begin(), device.gaps.end(), to);
  return at != device.gaps.begin() && *std::prev(at) >= from ? *std::prev(at) : kNoStep;
}

}  // namespace tidegauge::model
