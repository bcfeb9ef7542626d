#include "view/timeline/siblings.h"

namespace tidegauge::view {

Siblings::Siblings(const model::Trace& trace) : by_stack_(trace.stacks.size()) {
  const model::Allocations& a = trace.allocations;
  for (const model::Device& device : trace.devices) {
    for (uint64_t row = device.allocation_begin; row < device.allocation_end; ++row) {
      if (!a.stack[row].valid()) continue;
      SiblingTotals& totals = by_stack_[a.stack[row].index()];
      totals.count++;
      totals.bytes += a.block_bytes[row];
      if (!liveAtEnd(trace, device, row)) continue;
      totals.live_at_end_count++;
      totals.live_at_end_bytes += a.block_bytes[row];
    }
  }
}

}  // namespace tidegauge::view
