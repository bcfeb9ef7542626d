// The properties of every trace that the rest of the program relies on, whatever file it came from:
// ids in range, columns of equal length, consistent ranges, valid UTF-8. Aborts if one does not
// hold.
#pragma once

#include <cstdlib>

#include "base/utf8.h"
#include "model/tensors/tensors.h"
#include "model/trace.h"

namespace tidegauge::fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

template <class Column>
inline void requireRows(const Column& column, size_t rows) {
  require(column.size() == rows);
}
template <class Column>
inline void requireRowsOrNone(const Column& column, size_t rows) {
  require(column.empty() || column.size() == rows);
}

inline void checkTables(const model::Trace& trace) {
  for (uint32_t id = 0; id < trace.strings.size(); ++id) {
    require(base::isUtf8(trace.strings.text(model::StringId(id))));
  }
  for (size_t frame = 0; frame < trace.frames.size(); ++frame) {
    require(trace.frames.file[frame].index() < trace.strings.size());
    require(trace.frames.function[frame].index() < trace.strings.size());
  }
  for (uint64_t row = 0; row < trace.stacks.totalFrames(); ++row)
    require(trace.stacks.frameAt(row).index() < trace.frames.size());
  requireRows(trace.annotations.end_us, trace.annotations.size());
  for (model::StringId name : trace.annotations.name) require(name.index() < trace.strings.size());
}

inline void checkEvents(const model::Trace& trace) {
  const model::Events& events = trace.events;
  size_t rows = events.size();
  requireRows(events.address, rows);
  requireRows(events.size_bytes, rows);
  requireRows(events.stack, rows);
  requireRows(events.stream, rows);
  requireRows(events.subject, rows);
  requireRowsOrNone(events.time_us, rows);
  requireRowsOrNone(events.pool, rows);
  requireRowsOrNone(events.compile_context, rows);
  requireRowsOrNone(events.metadata, rows);
  requireRowsOrNone(events.category, rows);
  for (size_t row = 0; row < rows; ++row) {
    require(!trace.actionName(events.action[row]).empty() || !trace.unknown_actions.empty());
    require(!events.stack[row].valid() || events.stack[row].index() < trace.stacks.size());
    require(events.stream[row].index() < trace.streams.size());
    bool pool = !events.pool.empty() && events.pool[row].valid();
    require(!pool || events.pool[row].index() < trace.pools.size());
  }
  uint64_t next = 0;
  for (const model::Device& device : trace.devices) {
    require(device.event_begin <= device.event_end);
    if (device.event_begin == device.event_end) continue;
    require(device.event_begin == next);
    next = device.event_end;
  }
  require(next == rows);
}

inline void checkFinalState(const model::Trace& trace) {
  const model::FinalSegments& segments = trace.final_segments;
  for (size_t row = 0; row < segments.size(); ++row) {
    require(segments.block_begin[row] <= segments.block_end[row]);
    require(segments.block_end[row] <= trace.final_blocks.size());
    require(segments.stream[row].index() < trace.streams.size());
    require(!segments.stack[row].valid() || segments.stack[row].index() < trace.stacks.size());
    require(trace.findDevice(segments.device[row]) != nullptr);
  }
  for (model::StackId stack : trace.final_blocks.stack) {
    require(!stack.valid() || stack.index() < trace.stacks.size());
  }
}

inline void checkLives(const model::Trace& trace) {
  for (size_t row = 0; row < trace.allocations.size(); ++row) {
    require(trace.allocations.first_step[row] <= trace.allocations.last_step[row]);
  }
  for (size_t row = 0; row < trace.pieces.size(); ++row) {
    require(trace.pieces.segment[row].index() < trace.segments.size());
  }
}

inline void checkTensors(const model::Trace& trace) {
  if (!trace.tensors) return;
  const model::Tensors& tensors = *trace.tensors;
  size_t rows = tensors.size();
  require(rows > 0);
  requireRows(tensors.device, rows);
  requireRows(tensors.size_bytes, rows);
  requireRows(tensors.kind, rows);
  requireRows(tensors.time_us, rows);
  requireRows(tensors.name, rows);
  for (const auto* texts : {&tensors.of, &tensors.state, &tensors.shape, &tensors.dtype}) {
    requireRows(*texts, rows);
    for (model::StringId id : *texts) require(!id.valid() || id.index() < trace.strings.size());
  }
  for (model::StringId id : tensors.name) require(id.index() < trace.strings.size());
  requireRowsOrNone(tensors.allocation, rows);  // none: the lives were not built
  for (size_t row = 0; row < tensors.allocation.size(); ++row) {
    model::AllocationId id = tensors.allocation[row];
    if (!id.valid()) continue;
    uint64_t begin = trace.allocations.address[id.index()];
    require(begin <= tensors.address[row]);
    require(tensors.address[row] - begin < trace.allocations.block_bytes[id.index()]);
    require(!model::tensorsOf(trace, id).empty());
  }
}

inline void checkTrace(const model::Trace& trace) {
  checkTables(trace);
  checkEvents(trace);
  checkFinalState(trace);
  checkLives(trace);
  checkTensors(trace);
}

}  // namespace tidegauge::fuzz
