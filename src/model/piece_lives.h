// Lives of segments: from segment events and the final segments of one device to rows of segments
// and pieces, including what existed before the recording.
//
//   events   map [0,20)   map [20,40)   unmap [10,30)        final   [0,10) [30,40) [50,60)
//   pieces   [0,10) 0→end   [10,20) 0→2   [20,30) 1→2   [30,40) 1→end   [50,60) before→end
//
// Touching ranges of an expandable segment are one row of segments; an ordinary segment is a row.
// Cost: O(segment events × log live pieces). Segment events are few (thousands in ten million).
#pragma once

#include <vector>

#include "base/sorted_chunks.h"
#include "model/trace.h"

namespace tidegauge::model {

// Appends the device's rows to trace.segments and trace.pieces, sets the device's segment and piece
// ranges, final_segments.segment and events.subject of segment events.
void buildPieceLives(Trace& trace, Device& device);

// What the process owned at one moment, while events are replayed forwards: address → segment.
// Moves forward only; O(log live pieces) per lookup.
class OwnedRanges {
 public:
  OwnedRanges(const Trace& trace, const Device& device);

  // The state after event `step`; steps must not go down.
  void advanceTo(Step step);
  // The segment that holds the address, or an invalid id.
  SegmentId find(uint64_t address) const;

 private:
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
    SegmentId segment;
  };
  struct BeginOf {
    uint64_t operator()(const Range& range) const { return range.begin; }
  };
  void insert(uint32_t piece);
  void erase(uint32_t piece);

  const Trace& trace_;
  std::vector<uint32_t> starts_;  // pieces by first_step
  std::vector<uint32_t> ends_;    // pieces by last_step
  size_t next_start_ = 0;
  size_t next_end_ = 0;
  base::SortedChunks<Range, BeginOf> live_;
  mutable Range last_hit_;  // empty if live_ has changed since
};

}  // namespace tidegauge::model
