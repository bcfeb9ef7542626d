#include "view/map/address_map.h"

#include <algorithm>

namespace tidegauge::view {

AddressMap::AddressMap(const analysis::AnalysedTrace& analysed,
                       const analysis::DeviceAnalysis& device, bool plain, uint64_t direct_births,
                       bool is_followed)
    : analysed_(&analysed),
      device_(&device),
      is_plain_(plain),
      is_followed_(is_followed),
      axis_(analysed.trace, device.device, plain),
      direct_births_(direct_births),
      rows_(analysed, device, axis_, hasManyBirths()) {
  addOoms(0);
  if (!hasManyBirths()) return;
  if (is_followed) {
    grid_.emplace(MapGrid::continuable(device.device, rows_));
  } else {
    grid_.emplace(device.device, rows_);
  }
}

std::shared_ptr<AddressMap> AddressMap::following(const analysis::AnalysedTrace& analysed,
                                                  const analysis::DeviceAnalysis& device,
                                                  bool plain, std::shared_ptr<AddressMap> before,
                                                  const model::Continuation& continuation,
                                                  uint64_t direct_births) {
  if (before && before->is_followed_ && before->is_plain_ == plain &&
      before->direct_births_ == direct_births && &device == analysed.devices.front().get() &&
      before->continueOn(analysed, device, continuation))
    return before;
  before = nullptr;
  return std::shared_ptr<AddressMap>(new AddressMap(analysed, device, plain, direct_births, true));
}

// False: it is of no use any more.
bool AddressMap::continueOn(const analysis::AnalysedTrace& analysed,
                            const analysis::DeviceAnalysis& device,
                            const model::Continuation& continuation) {
  analysed_ = &analysed;
  device_ = &device;
  if (hasManyBirths() != grid_.has_value()) return false;
  const model::Allocations& a = analysed.trace.allocations;
  Step from = std::min(continuation.steps, device.device.steps());
  uint64_t new_row = device.live.bornIn(from, device.device.steps()).first;
  OwnedAxis axis(analysed.trace, device.device, is_plain_, axis_.hasOutside() ? 0 : new_row);
  if (axis != axis_) return false;
  std::vector<uint32_t> live;  // before and now; without a step before, nothing was settled
  if (from > 0) live = device.live.liveAt(from - 1);
  bool are_inside =
      std::all_of(live.begin(), live.end(), [&](uint32_t row) { return a.segment[row].valid(); });
  if (!are_inside && !axis.hasOutside()) return false;
  MapChanges changes;
  if (!rows_.continueOn(analysed, device, axis, live, continuation, changes)) return false;
  for (const model::Continuation::Resized& it : continuation.resized)
    from = std::min(from, a.first_step[it.row]);
  if (grid_ && !grid_->continueOn(device.device, from, changes)) return false;
  std::erase_if(ooms_, [&](Step step) { return step >= continuation.steps; });
  addOoms(continuation.steps);
  is_continued_ = true;
  return true;
}

void AddressMap::addOoms(Step from) {
  const model::Device& d = device_->device;
  for (uint64_t event = d.event_begin + from; event < d.event_end; ++event) {
    if (analysed_->trace.events.action[event] == model::Action::kOom)
      ooms_.push_back(static_cast<Step>(event - d.event_begin));
  }
}

std::unique_ptr<const MapGrid> AddressMap::gridOf(const FilterSet& filter) const {
  if (!grid_) return nullptr;
  return std::make_unique<MapGrid>(device_->device, rows_, &filter);
}

}  // namespace tidegauge::view
