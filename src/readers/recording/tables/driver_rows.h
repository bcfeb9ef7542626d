// DriverRows: turns the ledger's effects for one process into lives of driver memory.
//
//   reserved (place 7) … returned (place 7)     a row of blocks
//   mapped (of place 7) … unmapped              a row of mappings; cut where a part was unmapped
//
// Cost: O(log live) per effect.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <vector>

#include "model/driver_memory.h"
#include "model/ledger/effect.h"

namespace tidegauge::readers::recording {

class DriverRows {
 public:
  void take(const model::Effect& effect);
  // Its blocks have no stacks yet; `stacks` has them, as rows of the recording, one per block.
  model::DriverMemory& memory() { return memory_; }
  const std::vector<uint32_t>& stacks() const { return stacks_; }

 private:
  void onUnmapped(const model::Effect& effect);
  size_t addMapping(uint32_t block, uint64_t address, uint64_t end, int64_t begin_ns);

  model::DriverMemory memory_;
  std::vector<uint32_t> stacks_;
  boost::unordered_flat_map<uint64_t, uint32_t> live_;  // row of blocks, by place
  std::map<uint64_t, size_t> mapped_;                   // row of mappings, by address
};

}  // namespace tidegauge::readers::recording
