#include "support/trace_builder.h"

#include <algorithm>

#include "model/tensors/join_tensors.h"

namespace tidegauge::testing {

using namespace model;

TraceBuilder& TraceBuilder::device(int32_t ordinal) {
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i].ordinal == ordinal) {
      current_ = i;
      return *this;
    }
  }
  current_ = devices_.size();
  devices_.push_back({ordinal, {}, {}});
  if (trace_.streams.empty()) trace_.streams.push_back({0});
  if (trace_.pools.empty()) trace_.pools.push_back({0, 0});
  return *this;
}

TraceBuilder& TraceBuilder::stack(const std::vector<std::string>& frames) {
  std::vector<FrameId> ids;
  const std::string forward_of = "forward of ";
  for (std::string text : frames) {
    bool forward = text.starts_with(forward_of);
    if (forward) text.erase(0, forward_of.size());
    size_t at = text.find('@');
    size_t colon = text.rfind(':');
    StringId function = trace_.strings.intern(text.substr(0, at));
    StringId file = trace_.strings.intern(text.substr(at + 1, colon - at - 1));
    uint64_t line = std::stoull(text.substr(colon + 1));
    Frames& table = trace_.frames;
    size_t row = 0;
    while (row < table.size() &&
           !(table.function[row] == function && table.file[row] == file &&
             table.line[row] == line && (table.kind[row] == FrameKind::kForward) == forward)) {
      ++row;
    }
    if (row == table.size()) {
      table.function.push_back(function);
      table.file.push_back(file);
      table.line.push_back(line);
      bool python = text.find(".py:") != std::string::npos;
      table.kind.push_back(forward  ? FrameKind::kForward
                           : python ? FrameKind::kPython
                                    : FrameKind::kCpp);
      table.note.emplace_back();
    }
    ids.emplace_back(static_cast<uint32_t>(row));
  }
  for (size_t s = 0; s < trace_.stacks.size(); ++s) {
    StackId id(static_cast<uint32_t>(s));
    model::FrameList known = trace_.stacks.framesOf(id);
    if (std::equal(ids.begin(), ids.end(), known.begin(), known.end())) {
      stack_ = id;
      return *this;
    }
  }
  stack_ = trace_.stacks.add(ids);
  return *this;
}

TraceBuilder& TraceBuilder::noStack() {
  stack_ = {};
  return *this;
}

TraceBuilder& TraceBuilder::time(int64_t time_us) {
  next_time_us_ = time_us;
  timed_ = true;
  return *this;
}

TraceBuilder& TraceBuilder::stream(uint64_t raw) {
  stream_raw_ = raw;
  return *this;
}

TraceBuilder& TraceBuilder::pool(uint64_t first, uint64_t second) {
  pool_ = {first, second};
  return *this;
}

StreamId TraceBuilder::streamId() {
  for (size_t i = 0; i < trace_.streams.size(); ++i) {
    if (trace_.streams[i].raw == stream_raw_) return StreamId(static_cast<uint16_t>(i));
  }
  trace_.streams.push_back({stream_raw_});
  return StreamId(static_cast<uint16_t>(trace_.streams.size() - 1));
}

TraceBuilder& TraceBuilder::event(Action action, uint64_t address, uint64_t size_bytes) {
  Events& e = trace_.events;
  devices_[current_].events.push_back(e.size());
  e.action.push_back(action);
  e.address.push_back(address);
  e.size_bytes.push_back(size_bytes);
  e.stack.push_back(stack_);
  e.stream.push_back(streamId());
  e.time_us.push_back(next_time_us_);
  if (next_time_us_ != kNoTime && next_time_us_ < INT64_MAX) ++next_time_us_;
  return *this;
}

TraceBuilder& TraceBuilder::finalSegment(uint64_t address, uint64_t total_bytes, SegmentKind kind) {
  FinalSegments& s = trace_.final_segments;
  devices_[current_].segments.push_back(s.size());
  PoolId pool;
  for (size_t i = 0; i < trace_.pools.size(); ++i) {
    if (trace_.pools[i].first == pool_.first && trace_.pools[i].second == pool_.second) {
      pool = PoolId(static_cast<uint16_t>(i));
    }
  }
  if (!pool.valid()) {
    trace_.pools.push_back(pool_);
    pool = PoolId(static_cast<uint16_t>(trace_.pools.size() - 1));
  }
  s.device.push_back(devices_[current_].ordinal);
  s.address.push_back(address);
  s.total_bytes.push_back(total_bytes);
  s.allocated_bytes.push_back(kUnknownBytes);
  s.active_bytes.push_back(kUnknownBytes);
  s.requested_bytes.push_back(kUnknownBytes);
  s.kind.push_back(kind);
  s.small_pool.push_back(kind == SegmentKind::kSmall);
  s.stream.push_back(streamId());
  s.pool.push_back(pool);
  s.stack.push_back(stack_);
  s.block_begin.push_back(trace_.final_blocks.size());
  s.block_end.push_back(trace_.final_blocks.size());
  return *this;
}

TraceBuilder& TraceBuilder::block(uint64_t size_bytes, BlockState state, uint64_t requested_bytes) {
  FinalSegments& s = trace_.final_segments;
  FinalBlocks& b = trace_.final_blocks;
  uint64_t address = s.address.back();
  for (uint64_t i = s.block_begin.back(); i < s.block_end.back(); ++i) address += b.size_bytes[i];
  b.address.push_back(address);
  b.size_bytes.push_back(size_bytes);
  b.requested_bytes.push_back(requested_bytes);
  b.state.push_back(state);
  b.stack.push_back(state == BlockState::kInactive ? StackId() : stack_);
  s.block_end.back() = b.size();
  return *this;
}

TraceBuilder& TraceBuilder::annotation(const std::string& name, int64_t begin_us, int64_t end_us,
                                       int depth) {
  Annotations& a = trace_.annotations;
  a.name.push_back(trace_.strings.intern(name));
  a.device.push_back(0);
  a.begin_us.push_back(begin_us);
  a.end_us.push_back(end_us);
  a.depth.push_back(static_cast<uint16_t>(depth));
  return *this;
}

namespace {

template <class Column>
void gather(Column& column, const std::vector<uint64_t>& order) {
  if (column.empty()) return;
  Column sorted;
  for (uint64_t row : order) sorted.push_back(column[row]);
  column = std::move(sorted);
}

}  // namespace

void TraceBuilder::gatherAll() {
  std::sort(devices_.begin(), devices_.end(), [](const PerDevice& a, const PerDevice& b) {
    bool a_host = a.ordinal < 0, b_host = b.ordinal < 0;
    return a_host != b_host ? b_host : a.ordinal < b.ordinal;
  });
  std::vector<uint64_t> events, segments;
  for (const PerDevice& d : devices_) {
    Device device;
    device.ordinal = d.ordinal;
    device.kind = d.ordinal < 0 ? DeviceKind::kPinnedHost : DeviceKind::kGpu;
    device.event_begin = events.size();
    events.insert(events.end(), d.events.begin(), d.events.end());
    device.event_end = events.size();
    device.final_segment_begin = segments.size();
    segments.insert(segments.end(), d.segments.begin(), d.segments.end());
    device.final_segment_end = segments.size();
    trace_.devices.push_back(device);
  }
  Events& e = trace_.events;
  gather(e.action, events);
  gather(e.address, events);
  gather(e.size_bytes, events);
  gather(e.stack, events);
  gather(e.stream, events);
  gather(e.time_us, events);
  if (!timed_) e.time_us.clear();
  FinalSegments& s = trace_.final_segments;
  gather(s.device, segments);
  gather(s.address, segments);
  gather(s.total_bytes, segments);
  gather(s.allocated_bytes, segments);
  gather(s.active_bytes, segments);
  gather(s.requested_bytes, segments);
  gather(s.kind, segments);
  gather(s.small_pool, segments);
  gather(s.stream, segments);
  gather(s.pool, segments);
  gather(s.stack, segments);
  gather(s.block_begin, segments);
  gather(s.block_end, segments);
}

TraceBuilder& TraceBuilder::tensor(uint64_t address, const std::string& name, TensorKind kind,
                                   int64_t time_us) {
  if (!trace_.tensors) trace_.tensors = std::make_shared<Tensors>();
  Tensors& t = *trace_.tensors;
  t.device.push_back(devices_[current_].ordinal);
  t.address.push_back(address);
  t.size_bytes.push_back(64);
  t.name.push_back(trace_.strings.intern(name));
  t.kind.push_back(kind);
  t.of.push_back({});
  t.state.push_back({});
  t.shape.push_back(trace_.strings.intern("[16]"));
  t.dtype.push_back(trace_.strings.intern("float32"));
  t.time_us.push_back(time_us);
  return *this;
}

Trace TraceBuilder::build() {
  gatherAll();
  model::buildLives(trace_);
  model::joinTensors(trace_);
  return std::move(trace_);
}

Trace TraceBuilder::buildEventsAlone() {
  gatherAll();
  model::keepEventsAlone(trace_);
  return std::move(trace_);
}

}  // namespace tidegauge::testing
