// Any bytes → openSnapshots → every column touched. Beside "no crash, no undefined behaviour", it
// checks what the rest of the program relies on: ids in range, columns of one length, ranges that
// fit together, valid UTF-8; and that the quick and the careful way of reading agree.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "readers/torch/open_snapshots.h"
#include "readers/torch/utf8.h"

namespace {

using namespace tidegauge;

void require(bool condition) {
  if (!condition) std::abort();
}

template <class T>
void requireRows(const std::vector<T>& column, size_t rows) {
  require(column.size() == rows);
}
template <class T>
void requireRowsOrNone(const std::vector<T>& column, size_t rows) {
  require(column.empty() || column.size() == rows);
}

void checkTables(const model::Trace& trace) {
  for (uint32_t id = 0; id < trace.strings.size(); ++id) {
    require(readers::torch::isUtf8(trace.strings.text(model::StringId(id))));
  }
  for (size_t frame = 0; frame < trace.frames.size(); ++frame) {
    require(trace.frames.file[frame].index() < trace.strings.size());
    require(trace.frames.function[frame].index() < trace.strings.size());
  }
  for (model::FrameId frame : trace.stacks.frame) require(frame.index() < trace.frames.size());
  requireRows(trace.annotations.end_us, trace.annotations.size());
  for (model::StringId name : trace.annotations.name) require(name.index() < trace.strings.size());
}

void checkEvents(const model::Trace& trace) {
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

void checkFinalState(const model::Trace& trace) {
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

void checkLives(const model::Trace& trace) {
  for (size_t row = 0; row < trace.allocations.size(); ++row) {
    require(trace.allocations.first_step[row] <= trace.allocations.last_step[row]);
  }
  for (size_t row = 0; row < trace.pieces.size(); ++row) {
    require(trace.pieces.segment[row].index() < trace.segments.size());
  }
}

// Ids may differ between the two ways, what they stand for may not.
void requireSame(const model::Trace& a, const model::Trace& b) {
  require(a.events.address == b.events.address && a.events.size_bytes == b.events.size_bytes);
  require(a.events.time_us == b.events.time_us);
  require(a.final_blocks.address == b.final_blocks.address);
  require(a.final_segments.address == b.final_segments.address);
  require(a.annotations.begin_us == b.annotations.begin_us);
  require(a.settings.items == b.settings.items);
  for (size_t row = 0; row < a.events.size(); ++row) {
    require(a.actionName(a.events.action[row]) == b.actionName(b.events.action[row]));
    model::StackId stack_a = a.events.stack[row], stack_b = b.events.stack[row];
    require(stack_a.valid() == stack_b.valid());
    if (!stack_a.valid()) continue;
    require(a.stacks.depth(stack_a) == b.stacks.depth(stack_b));
    for (size_t i = 0; i < a.stacks.depth(stack_a); ++i) {
      size_t frame_a = a.stacks.framesOf(stack_a)[i].index();
      size_t frame_b = b.stacks.framesOf(stack_b)[i].index();
      require(a.frames.line[frame_a] == b.frames.line[frame_b]);
      require(a.strings.text(a.frames.file[frame_a]) == b.strings.text(b.frames.file[frame_b]));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const uint8_t> bytes(data, size);
  readers::torch::ReadOptions careful;
  careful.careful = true;
  auto quick_traces = readers::torch::openSnapshots(bytes, "fuzz", {});
  auto careful_traces = readers::torch::openSnapshots(bytes, "fuzz", careful);
  require(quick_traces.ok() == careful_traces.ok());
  if (!quick_traces.ok()) {
    require(!quick_traces.error().what.empty());
    return 0;
  }
  require(quick_traces.value().size() == careful_traces.value().size());
  for (size_t i = 0; i < quick_traces.value().size(); ++i) {
    const model::Trace& trace = quick_traces.value()[i];
    checkTables(trace);
    checkEvents(trace);
    checkFinalState(trace);
    checkLives(trace);
    requireSame(trace, careful_traces.value()[i]);
  }
  return 0;
}
