// OwnedRanges: the ranges that the process owned at one moment, while events are replayed forwards.
//
//   pieces   [0,20) 0→2   [20,40) 1→end        advanceTo(1): find(30) → its segment
//                                               advanceTo(2): find(10) → none
//
// Moves forward only. Cost: O(log live pieces) per piece that begins or ends, and per lookup.
#pragma once

#include <cstdint>
#include <vector>

#include "base/sorted_chunks.h"
#include "model/trace.h"

namespace tidegauge::model {

class OwnedRanges {
 public:
  OwnedRanges(const Trace& trace, const Device& device);

  // Moves to the state after event `step`; steps must ascend.
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
