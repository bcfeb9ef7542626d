// Hand-written traces for tests, one call per event:
//
//   TraceBuilder b;
//   b.segmentAlloc(0x1000, 2 << 20).alloc(0x1000, 700).freeCompleted(0x1000, 700);
//   b.finalSegment(0x1000, 2 << 20).block(2 << 20, BlockState::kInactive);
//   Trace trace = b.build();   // lives are built
#pragma once

#include <string>
#include <vector>

#include "model/lives/lives.h"
#include "model/tensors/tensors.h"
#include "model/trace.h"

namespace tidegauge::testing {

class TraceBuilder {
 public:
  TraceBuilder() { device(0); }

  // Events and final segments that follow belong to this device.
  TraceBuilder& device(int32_t ordinal);
  // The next events carry this stack: "function@file:line", innermost first; after them those of
  // the forward pass: "forward of function@file:line".
  TraceBuilder& stack(const std::vector<std::string>& frames);
  TraceBuilder& noStack();
  TraceBuilder& time(int64_t time_us);  // of the next event; then one µs later each
  TraceBuilder& stream(uint64_t raw);
  TraceBuilder& pool(uint64_t first, uint64_t second);  // of the next final segments

  TraceBuilder& event(model::Action action, uint64_t address, uint64_t size_bytes);
  TraceBuilder& alloc(uint64_t a, uint64_t n) { return event(model::Action::kAlloc, a, n); }
  TraceBuilder& freeRequested(uint64_t a, uint64_t n) {
    return event(model::Action::kFreeRequested, a, n);
  }
  TraceBuilder& freeCompleted(uint64_t a, uint64_t n) {
    return event(model::Action::kFreeCompleted, a, n);
  }
  TraceBuilder& free(uint64_t a, uint64_t n) { return freeRequested(a, n).freeCompleted(a, n); }
  TraceBuilder& segmentAlloc(uint64_t a, uint64_t n) {
    return event(model::Action::kSegmentAlloc, a, n);
  }
  TraceBuilder& segmentFree(uint64_t a, uint64_t n) {
    return event(model::Action::kSegmentFree, a, n);
  }
  TraceBuilder& map(uint64_t a, uint64_t n) { return event(model::Action::kSegmentMap, a, n); }
  TraceBuilder& unmap(uint64_t a, uint64_t n) { return event(model::Action::kSegmentUnmap, a, n); }
  TraceBuilder& oom(uint64_t device_free, uint64_t size) {
    return event(model::Action::kOom, device_free, size);
  }

  TraceBuilder& finalSegment(uint64_t address, uint64_t total_bytes,
                             model::SegmentKind kind = model::SegmentKind::kLarge);
  // The next block of the last final segment.
  TraceBuilder& block(uint64_t size_bytes, model::BlockState state, uint64_t requested_bytes = 0);
  TraceBuilder& annotation(const std::string& name, int64_t begin_us, int64_t end_us,
                           int depth = 0);

  // A name of the memory there, on the current device; without a time, at the end.
  TraceBuilder& tensor(uint64_t address, const std::string& name,
                       model::TensorKind kind = model::TensorKind::kParameter,
                       int64_t time_us = model::kNoTime);

  model::AllocatorSettings& settings() { return trace_.settings; }
  model::Trace build();
  // Without lives: model::keepEventsAlone().
  model::Trace buildEventsAlone();

 private:
  void gatherAll();
  struct PerDevice {
    int32_t ordinal;
    std::vector<uint64_t> events;  // indices into the columns as they were added
    std::vector<uint64_t> segments;
  };
  model::StreamId streamId();

  model::Trace trace_;
  std::vector<PerDevice> devices_;
  size_t current_ = 0;
  model::StackId stack_;
  int64_t next_time_us_ = model::kNoTime;
  uint64_t stream_raw_ = 0;
  model::Pool pool_;
  bool timed_ = false;
};

}  // namespace tidegauge::testing
