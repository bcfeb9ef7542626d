// Which allocations are live after a step, and who allocated them.
//
// Checkpoints (at least 65,536 steps and four times the live set apart) store the live rows;
// between them, the rows allocated since are scanned. liveAt costs O(live + births since the
// checkpoint), memory is at most one byte per event.
#pragma once

#include <cstdint>
#include <vector>

#include "model/lives/continuation.h"
#include "model/trace.h"

namespace tidegauge::analysis {

using model::AllocationId;
using model::StackId;
using model::Step;

class LiveIndex {
 public:
  LiveIndex(const model::Trace& trace, const model::Device& device);
  // Continues that of the trace before; `device` is the first one.
  LiveIndex(const model::Trace& trace, const model::Device& device, LiveIndex&& before,
            const model::Continuation& continuation);

  // Rows of trace.allocations that are live after `step`, in drawing order (bottom first). A step
  // beyond the end is the last state. Devices without events: their final state.
  std::vector<uint32_t> liveAt(Step step) const;

  // The same before the first event.
  std::vector<uint32_t> liveAtStart() const;

  // Rows of the device with first_step in [begin, end): a contiguous, half-open range of rows.
  std::pair<uint64_t, uint64_t> bornIn(Step begin, Step end) const;

 private:
  struct Checkpoint {
    Step step;
    uint64_t next_row;  // first row allocated after `step`
    std::vector<uint32_t> live;
  };

  void addCheckpoints(Step step, uint64_t row, std::vector<uint32_t> live);

  const model::Trace& trace_;
  const model::Device& device_;
  std::vector<Checkpoint> checkpoints_;
};

// True if `row` of trace.allocations is live after `step`.
inline bool liveAfter(const model::Trace& trace, uint32_t row, Step step) {
  return trace.allocations.first_step[row] <= step && step < trace.allocations.last_step[row];
}

// True if `row` is live before the first event. A block whose alloc was lost begins at an event.
inline bool liveBefore(const model::Trace& trace, uint32_t row) {
  const model::Allocations& a = trace.allocations;
  return a.first_step[row] == 0 && !a.has(row, model::kAllocSeen) &&
         a.provenance[row] != model::Provenance::kLost;
}

struct StackGroup {
  StackId stack;  // invalid: no stack recorded
  uint64_t block_bytes = 0;
  uint64_t requested_bytes = 0;
  uint64_t blocks = 0;
  uint32_t first_row = 0;    // the largest member, as an example
  uint64_t older_bytes = 0;  // of these, older than the recording
};

// The rows grouped by stack, most block bytes first.
std::vector<StackGroup> groupByStack(const model::Trace& trace, const std::vector<uint32_t>& rows);

}  // namespace tidegauge::analysis
