// Tape: one device's events in the form for a replay: ranks of streams, owners of pools, names of
// blocks.
//
// Streams are searched in the order of their pointers, so a stream is identified by its rank among
// them. In traces without pool ids (before 2026), the pool of an event follows from the blocks that
// live in it until the end.
#pragma once

#include <cstdint>
#include <vector>

#include "model/trace.h"
#include "replay/allocator/blocks.h"

namespace tidegauge::replay {

inline constexpr uint32_t kNoName = UINT32_MAX;

class Tape {
 public:
  Tape(const model::Trace& trace, const model::Device& device);

  const model::Trace& trace() const { return *trace_; }
  const model::Device& device() const { return *device_; }
  model::Step steps() const { return device_->steps(); }
  size_t row(model::Step step) const { return device_->event_begin + step; }
  model::Action action(model::Step step) const { return events().action[row(step)]; }
  uint64_t address(model::Step step) const { return events().address[row(step)]; }
  uint64_t bytes(model::Step step) const { return events().size_bytes[row(step)]; }
  StreamRank stream(model::Step step) const { return rankOf(events().stream[row(step)]); }
  OwnerIndex owner(model::Step step) const;
  bool hasOwners() const { return !events().pool.empty(); }
  // Page size of its large expandable segments.
  uint64_t largeSegmentBytes() const { return large_segment_bytes_; }
  // For alloc, free_requested, free_completed: the allocation's row, counted from the device's
  // first; or kNoName.
  uint32_t name(model::Step step) const;
  uint32_t names() const {
    return static_cast<uint32_t>(device_->allocation_end - device_->allocation_begin);
  }
  StreamRank rankOf(model::StreamId stream) const {
    return stream.valid() ? ranks_[stream.index()] : StreamRank{0};
  }
  static OwnerIndex ownerOf(model::PoolId pool) {
    return pool.valid() ? pool.value : OwnerIndex{0};
  }

 private:
  const model::Events& events() const { return trace_->events; }

  const model::Trace* trace_;
  const model::Device* device_;
  uint64_t large_segment_bytes_;
  std::vector<StreamRank> ranks_;  // by StreamId
};

}  // namespace tidegauge::replay
