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

namespace {

// With address space for later rows: what is not used costs nothing.
template <class T>
void copyColumn(std::vector<T>& to, const std::vector<T>& from) {
  to.reserve(2 * from.size());
  to.insert(to.end(), from.begin(), from.end());
}

void copyEvents(model::Events& to, const model::Events& from) {
  copyColumn(to.action, from.action);
  copyColumn(to.address, from.address);
  copyColumn(to.size_bytes, from.size_bytes);
  copyColumn(to.stack, from.stack);
  copyColumn(to.subject, from.subject);
  copyColumn(to.time_us, from.time_us);
  to.stream = from.stream;
}

void copyAllocations(model::Allocations& to, const model::Allocations& from) {
  copyColumn(to.address, from.address);
  copyColumn(to.requested_bytes, from.requested_bytes);
  copyColumn(to.block_bytes, from.block_bytes);
  copyColumn(to.segment, from.segment);
  copyColumn(to.stack, from.stack);
  copyColumn(to.first_step, from.first_step);
  copyColumn(to.last_step, from.last_step);
  copyColumn(to.free_requested_step, from.free_requested_step);
  copyColumn(to.version, from.version);
  copyColumn(to.stream, from.stream);
  copyColumn(to.pool, from.pool);
  copyColumn(to.provenance, from.provenance);
  copyColumn(to.flags, from.flags);
}

}  // namespace

std::unique_ptr<TraceBook> copyOf(const TraceBook& book, const model::Trace& trace) {
  auto copy = std::make_unique<TraceBook>();
  copy->rows = book.rows;
  copy->streams = book.streams;
  copy->settled = book.settled;
  copy->columns = book.columns;
  copy->first = book.first;
  copy->first_device = book.first_device;
  copy->settled_work = book.settled_work;
  copy->lives = book.lives;
  copyEvents(copy->trace.events, trace.events);
  copyAllocations(copy->trace.allocations, trace.allocations);
  copy->trace.segments = trace.segments;
  copy->trace.pieces = trace.pieces;
  copy->has_trace = true;
  return copy;
}

}  // namespace tidegauge::readers::recording
