// OwnedRanges: the ranges that the process owned at one moment, while events are replayed forwards.
//
//   pieces   [0,20) 0→2   [20,40) 1→end        advanceTo(1): find(30) → its segment
//                                               advanceTo(2): find(10) → none
//
// Moves forward only. Cost: O(log live pieces) per piece that begins or ends; a lookup O(1) where
// the last one within 2 MiB found the same range, else O(log live pieces).
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
  // A range found before, if it was not forgotten since.
  struct Hit {
    uint64_t begin = 0, end = 0;
    SegmentId segment;
    uint32_t round = 0;
  };
  static constexpr unsigned kStepBits = 21;
  static constexpr size_t kMostHits = 32768, kMaxForgotten = 64;

  void insert(uint32_t piece);
  void erase(uint32_t piece);
  void forget(const Range& range);
  Hit& hitAt(uint64_t address) const { return hits_[(address >> kStepBits) & (hits_.size() - 1)]; }

  const Trace& trace_;
  std::vector<uint32_t> starts_;  // pieces by first_step
  std::vector<uint32_t> ends_;    // pieces by last_step
  size_t next_start_ = 0;
  size_t next_end_ = 0;
  base::SortedChunks<Range, BeginOf> live_;
  mutable Range last_hit_;  // empty if live_ has changed since
  // By address, those of this round. All of them are live. Not used once ranges overlap, as they do
  // in contradictory files: then the latest begin counts.
  mutable std::vector<Hit> hits_;
  uint32_t round_ = 0;
  bool overlap_ = false;
};

}  // namespace tidegauge::model
