#include "readers/recording/tables/driver_rows.h"

#include <algorithm>

#include "model/ledger/ledger.h"

namespace tidegauge::readers::recording {

using model::Effect;
using model::kLiveAtEnd;
using model::What;

void DriverRows::take(const Effect& effect) {
  model::DriverBlocks& blocks = memory_.blocks;
  switch (effect.what) {
    case What::kReserved:
      if (!model::isDeviceMemory(effect.kind) && !model::isHostMemory(effect.kind)) return;
      live_[effect.place] = static_cast<uint32_t>(blocks.size());
      blocks.address.push_back(effect.address);
      blocks.size_bytes.push_back(effect.size_bytes);
      blocks.begin_ns.push_back(effect.since_ns);
      blocks.end_ns.push_back(kLiveAtEnd);
      blocks.device.push_back(effect.device);
      blocks.kind.push_back(effect.kind);
      stacks_.push_back(effect.stack);
      return;
    case What::kReturned: {
      auto at = live_.find(effect.place);
      if (at == live_.end()) return;
      blocks.end_ns[at->second] = effect.time_ns;
      live_.erase(at);
      return;
    }
    case What::kPlaced: {
      auto at = live_.find(effect.place);
      if (at != live_.end()) blocks.device[at->second] = effect.device;
      return;
    }
    case What::kMapped: {
      auto at = live_.find(effect.physical);
      if (effect.is_alias || at == live_.end()) return;
      addMapping(at->second, effect.address, effect.address + effect.size_bytes, effect.since_ns);
      return;
    }
    case What::kUnmapped:
      onUnmapped(effect);
      return;
    default:
      return;
  }
}

size_t DriverRows::addMapping(uint32_t block, uint64_t address, uint64_t end, int64_t begin_ns) {
  model::DriverMappings& mappings = memory_.mappings;
  size_t row = mappings.size();
  mappings.block.push_back(block);
  mappings.address.push_back(address);
  mappings.size_bytes.push_back(end - address);
  mappings.begin_ns.push_back(begin_ns);
  mappings.end_ns.push_back(kLiveAtEnd);
  mapped_[address] = row;
  return row;
}

// The ledger reports each mapping, perhaps in part: then the remaining parts stay mapped.
void DriverRows::onUnmapped(const Effect& effect) {
  if (effect.is_alias || effect.physical == 0) return;
  auto at = mapped_.upper_bound(effect.address);
  if (at == mapped_.begin()) return;
  --at;
  model::DriverMappings& mappings = memory_.mappings;
  size_t row = at->second;
  uint64_t begin = at->first, end = begin + mappings.size_bytes[row];
  if (end <= effect.address) return;
  uint64_t from = effect.address, to = std::min(end, from + effect.size_bytes);
  mapped_.erase(at);
  mappings.address[row] = from;
  mappings.size_bytes[row] = to - from;
  mappings.end_ns[row] = effect.time_ns;
  uint32_t block = mappings.block[row];
  int64_t begin_ns = mappings.begin_ns[row];
  if (begin < from) addMapping(block, begin, from, begin_ns);
  if (to < end) addMapping(block, to, end, begin_ns);
}

}  // namespace tidegauge::readers::recording
