#include "readers/recording/driver_blocks.h"

namespace tidegauge::readers::recording {
namespace {

using model::Action;
using model::Trace;

// A block of driver memory has the requested size; it is not rounded like a framework's block.
void setBlockSizes(Trace& trace, const model::Device& device) {
  model::Allocations& a = trace.allocations;
  for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
    model::SegmentId segment = a.segment[row];
    bool begins =
        a.has(row, model::kAllocSeen) || a.provenance[row] == model::Provenance::kBeforeRecording;
    if (!segment.valid() || !begins) continue;
    bool whole = trace.segments.address[segment.index()] == a.address[row] &&
                 trace.segments.total_bytes[segment.index()] == a.requested_bytes[row];
    if (!whole) continue;
    a.block_bytes[row] = a.requested_bytes[row];
    a.flags[row] &= static_cast<uint8_t>(~(model::kBlockInferred | model::kBlockUncertain));
  }
}

class Joiner {
 public:
  Joiner(Trace& trace, const model::Device& device, const std::vector<bool>& is_driver_block,
         uint64_t first_event)
      : trace_(trace),
        device_(device),
        is_driver_block_(is_driver_block),
        first_event_(first_event) {}

  void run() {
    model::Pieces& pieces = trace_.pieces;
    for (uint64_t row = device_.piece_begin; row < device_.piece_end; ++row) {
      uint64_t given = device_.event_begin + pieces.first_step[row];
      uint64_t taken = device_.event_begin + pieces.last_step[row];
      bool begins = isAbout(row, given, Action::kSegmentAlloc, Action::kSegmentMap) &&
                    isOfBlock(row, given + 1, Action::kAlloc);
      bool ends = taken > device_.event_begin &&
                  isAbout(row, taken, Action::kSegmentFree, Action::kSegmentUnmap) &&
                  isOfBlock(row, taken - 1, Action::kFreeCompleted);
      if (begins) ++pieces.first_step[row];
      if (ends) --pieces.last_step[row];
    }
  }

 private:
  // The event has one of the two actions, and the piece lies in its range.
  bool isAbout(uint64_t row, uint64_t event, Action one, Action other) const {
    if (event >= device_.event_end) return false;
    Action action = trace_.events.action[event];
    return (action == one || action == other) && covers(event, row);
  }
  bool isOfBlock(uint64_t row, uint64_t event, Action action) const {
    return event < device_.event_end && is_driver_block_[event - first_event_] &&
           trace_.events.action[event] == action && covers(event, row);
  }
  bool covers(uint64_t event, uint64_t row) const {
    uint64_t address = trace_.pieces.address[row];
    uint64_t begin = trace_.events.address[event], bytes = trace_.events.size_bytes[event];
    return address >= begin && address - begin < bytes;
  }

  Trace& trace_;
  const model::Device& device_;
  const std::vector<bool>& is_driver_block_;
  uint64_t first_event_;  // whose bit is the first one
};

}  // namespace

void joinDriverBlocks(Trace& trace, const std::vector<bool>& is_driver_block) {
  for (const model::Device& device : trace.devices)
    joinDriverBlocksOf(trace, device, is_driver_block, 0);
}

void joinDriverBlocksOf(Trace& trace, const model::Device& device,
                        const std::vector<bool>& is_driver_block, uint64_t first_event) {
  setBlockSizes(trace, device);
  Joiner(trace, device, is_driver_block, first_event).run();
}

}  // namespace tidegauge::readers::recording
