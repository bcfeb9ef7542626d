// EventRows: a range of consecutive events of one device, as columns. What a builder of lives reads
// while a file is still being read: it needs no other event.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/trace.h"

namespace tidegauge::model {

struct EventRows {
  Step begin = 0;  // of the first one
  size_t count = 0;
  const Action* action = nullptr;
  const uint64_t* address = nullptr;
  const uint64_t* size_bytes = nullptr;
  const StackId* stack = nullptr;
  UniformRows<StreamId> stream;
  UniformRows<PoolId> pool;
  UniformRows<StringId> category;
  uint32_t* subject = nullptr;  // written
};

// The device's events of steps [begin, end).
inline EventRows rowsOf(Events& events, const Device& device, Step begin, Step end) {
  size_t at = device.event_begin + begin;
  auto from = [&](auto& column) { return column.empty() ? nullptr : column.data() + at; };
  return {.begin = begin,
          .count = size_t{end} - begin,
          .action = from(events.action),
          .address = from(events.address),
          .size_bytes = from(events.size_bytes),
          .stack = from(events.stack),
          .stream = events.stream.from(at),
          .pool = events.pool.from(at),
          .category = events.category.from(at),
          .subject = from(events.subject)};
}

}  // namespace tidegauge::model
