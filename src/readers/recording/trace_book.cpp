#include "readers/recording/trace_book.h"

namespace tidegauge::readers::recording {

void DeviceColumns::shorten(size_t rows, size_t refusals) {
  events.action.resize(rows);
  events.address.resize(rows);
  events.size_bytes.resize(rows);
  events.stack.resize(rows);
  events.stream.shorten(rows);
  events.time_us.resize(rows);
  if (!events.subject.empty()) events.subject.resize(rows);
  is_driver_block.resize(rows);
  refused.event.resize(refusals);
  refused.count.resize(refusals);
  refused.first_ns.resize(refusals);
}

}  // namespace tidegauge::readers::recording
