// The number of allocations from the same stack, over the whole recording and still live at its
// end. One pass over the allocations; 24 bytes per stack.
#pragma once

#include <cstdint>
#include <vector>

#include "model/trace.h"

namespace tidegauge::view {

struct SiblingTotals {
  uint64_t bytes = 0;  // of blocks
  uint64_t live_at_end_bytes = 0;
  uint32_t count = 0;
  uint32_t live_at_end_count = 0;
};

class Siblings {
 public:
  explicit Siblings(const model::Trace& trace);
  // Empty for an invalid stack.
  SiblingTotals of(model::StackId stack) const {
    return stack.valid() ? by_stack_[stack.index()] : SiblingTotals();
  }

 private:
  std::vector<SiblingTotals> by_stack_;
};

// True if the row is live after the last event of its device.
inline bool liveAtEnd(const model::Trace& trace, const model::Device& device, uint64_t row) {
  return trace.allocations.last_step[row] >= device.steps();
}

}  // namespace tidegauge::view
