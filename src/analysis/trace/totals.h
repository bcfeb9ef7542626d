// Totals: requested, active, allocated and reserved bytes after each step of a device.
//
//   step        0      1      2      3        a checkpoint every 128 steps: the running totals
//   active     512  1,024  1,024    512       and the minima and maxima of these steps; between
//   reserved  2 Mi   2 Mi   2 Mi   2 Mi       them a cursor adds the few events
//
// Terms (PyTorch's): *active* = blocks from alloc to free_completed, *allocated* = to
// free_requested, *requested* = requested bytes, alloc to free_completed, *reserved* = memory from
// the driver. Cost: built in one pass; about 1 byte per event; at() ≤ 128 events; span()
// O(steps/128 + 256). Of a trace that is continued: O(new events + steps/128).
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/trace/change_marks.h"
#include "model/lives/continuation.h"
#include "model/trace.h"

namespace tidegauge::analysis {

using model::Step;

struct Totals {
  uint64_t requested_bytes = 0;
  uint64_t active_bytes = 0;
  uint64_t allocated_bytes = 0;
  uint64_t reserved_bytes = 0;
  bool operator==(const Totals&) const = default;
};

// The highest state. The state before the first event counts, too: a program may hold the most when
// its recording begins.
struct Peak {
  uint64_t bytes = 0;
  Step step = 0;          // the first step with that many bytes; 0 if at_start
  bool at_start = false;  // before the first event; no later state has that many bytes
  // In SQL and JSON. −1: before the first event.
  int64_t place() const { return at_start ? kPlaceOfStart : int64_t{step}; }
  static constexpr int64_t kPlaceOfStart = -1;
};

// True if a piece of a segment (a row of trace.pieces) is held there.
bool isPieceAt(const model::Trace& trace, const model::Device& device, uint64_t row,
               const Peak& place);

// Extremes over the states after some steps.
struct Span {
  uint64_t active_min = 0, active_max = 0;
  uint64_t reserved_min = 0, reserved_max = 0;
  uint64_t requested_max = 0, allocated_max = 0;
  Step active_max_step = 0, reserved_max_step = 0, requested_max_step = 0;  // the first such step
};

// The highest active bytes of some states, and the first step that has them.
struct ActivePeak {
  uint64_t bytes = 0;
  Step step = 0;
};

class TotalsIndex {
 public:
  TotalsIndex(const model::Trace& trace, const model::Device& device);
  // Continues those of the trace before; `device` is the first one.
  TotalsIndex(const model::Trace& trace, const model::Device& device, TotalsIndex&& before,
              const model::Continuation& continuation);

  Totals initial() const { return initial_; }  // before step 0
  Totals at(Step step) const;                  // after step; steps() − 1 or more: the last state
  Totals at(const Peak& peak) const { return peak.at_start ? initial_ : at(peak.step); }
  Totals last() const { return steps_ == 0 ? initial_ : at(steps_ - 1); }
  // Over the states after steps [begin, end); begin < end ≤ steps().
  Span span(Step begin, Step end) const;
  // span()'s active_max alone: a picture asks for it, and the other extremes need more walks.
  ActivePeak highestActive(Step begin, Step end) const;
  Step steps() const { return steps_; }
  // By kMarkSteps steps: the changes of active bytes as one number (change_marks.h).
  const std::vector<uint64_t>& activeMarks() const { return active_marks_; }

  Peak peakRequested() const { return peak_requested_; }
  Peak peakActive() const { return peak_active_; }
  Peak peakAllocated() const { return peak_allocated_; }
  Peak peakReserved() const { return peak_reserved_; }

  // Calls f(step, totals) for the states after steps [begin, end).
  template <class F>
  void forEach(Step begin, Step end, F&& f) const {
    if (begin >= end) return;
    Cursor cursor(*this, begin / kBlock);
    while (cursor.step() < begin) cursor.advance();
    for (; cursor.step() < end; cursor.advance()) f(cursor.step(), cursor.totals());
  }

 private:
  static constexpr Step kBlock = kMarkSteps;

  // A change that the step's own event does not contain: lost ends and pieces of segments.
  struct Edge {
    Step step;
    Totals change;  // a loss of x is 2^64 − x
  };

  class Cursor {
   public:
    Cursor(const TotalsIndex& index, Step block);
    Step step() const { return step_; }
    const Totals& totals() const { return totals_; }  // after step()
    void advance();

   private:
    void apply();
    const TotalsIndex& index_;
    Step step_;
    Totals totals_;
    size_t edge_;
  };

  struct Block {
    Totals before;  // the state before its first step
    Span span;
    uint32_t edge = 0;  // first edge at or after its first step
  };

  // Large devices are built in parts, by several processors. Part p has the blocks from
  // firstBlock(p) on.
  size_t firstBlock(size_t part) const { return blocks_.size() * part / parts_; }
  void buildAnew();
  void collectEdges();
  Totals collectEdgesOf(uint64_t row, const std::vector<uint64_t>& begins, std::vector<Edge>& edges,
                        std::vector<Totals>& named) const;
  void beginParts(const std::vector<Totals>& named);
  // The blocks of some parts; returns the state after the last step of them.
  Totals buildBlocks(size_t part, size_t end_part);
  Totals buildBlock(Step number, const Totals& before, uint32_t& edge);
  void buildAll();
  void continueEdges(Step begin);
  void resize(const model::Continuation& continuation, Step end_block);
  void findPeaks();
  // What one event does to the bytes of a row: adds them, takes them away, or leaves them.
  struct Deed {
    uint32_t row = 0;
    int8_t active = 0;  // and requested
    int8_t allocated = 0;
  };
  Deed deedOf(Step step) const;  // if the device has allocations
  Totals changeOf(const Deed& deed) const;

  const model::Trace& trace_;
  const model::Device& device_;
  Step steps_;
  Totals initial_;
  std::vector<Edge> edges_;  // by step
  std::vector<Block> blocks_;
  std::vector<uint64_t> active_marks_;
  size_t parts_ = 1;
  Peak peak_requested_, peak_active_, peak_allocated_, peak_reserved_;
};

}  // namespace tidegauge::analysis
