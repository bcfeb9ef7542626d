#include "view/map/address_map.h"

namespace tidegauge::view {

AddressMap::AddressMap(const analysis::AnalysedTrace& analysed,
                       const analysis::DeviceAnalysis& device, bool plain, uint64_t direct_births)
    : analysed_(analysed),
      device_(device),
      axis_(analysed.trace, device.device, plain),
      direct_births_(direct_births),
      rows_(analysed, device, axis_,
            device.device.allocation_end - device.device.allocation_begin > direct_births) {
  const model::Device& d = device.device;
  for (uint64_t event = d.event_begin; event < d.event_end; ++event) {
    if (analysed.trace.events.action[event] == model::Action::kOom) {
      ooms_.push_back(static_cast<Step>(event - d.event_begin));
    }
  }
  if (d.allocation_end - d.allocation_begin > direct_births_) grid_.emplace(d, rows_);
}

std::unique_ptr<const MapGrid> AddressMap::gridOf(const FilterSet& filter) const {
  if (!grid_) return nullptr;
  return std::make_unique<MapGrid>(device_.device, rows_, &filter);
}

}  // namespace tidegauge::view
