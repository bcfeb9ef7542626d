// StartedLives: lives of the blocks of one device that were joined while the file was still being
// read. buildLives() takes them instead of joining the same events again.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/lives/blocks/block_lives.h"

namespace tidegauge::model {

struct StartedLives {
  static inline const CarriedAllocations kNoneCarried{};

  uint64_t event_begin = 0;  // of the trace
  uint64_t events = 0;
  BlockLives lives{kNoneCarried};
  std::vector<uint32_t> subject;  // of each event, until buildLives() takes it

  // Do they contain exactly the device's events? Not if the reader put events in order, since then
  // there may be gaps.
  bool areOf(const Device& device) const {
    return event_begin == device.event_begin && events == device.steps() && device.seams.empty();
  }
};
using StartedDevices = std::vector<std::unique_ptr<StartedLives>>;

}  // namespace tidegauge::model
