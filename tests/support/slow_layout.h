// The layout after a step, derived from the lives only: examines every piece and every allocation,
// and finds what covers each stretch between two ends. Slow and obvious; the twins compare the
// analysis with it, so it shares no code with it.
#pragma once

#include <cstdint>
#include <vector>

#include "model/trace.h"

namespace tidegauge::testing {

struct SlowRange {  // owned; touching pieces of one segment are one
  uint64_t begin = 0;
  uint64_t end = 0;
  model::SegmentId segment{};
};

struct SlowBlock {  // live
  uint32_t row = 0;
  size_t range = SIZE_MAX;     // in SlowLayout::owned; SIZE_MAX: in none
  uint64_t covered_bytes = 0;  // of the range, that no block before it covers
};

struct SlowHole {
  size_t range = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t bytes() const { return end - begin; }
};

struct SlowLayout {
  std::vector<SlowRange> owned;   // by address
  std::vector<SlowBlock> blocks;  // by address, then by row
  std::vector<SlowHole> holes;    // by address
};

SlowLayout slowLayout(const model::Trace& trace, const model::Device& device, model::Step step);

// The pool of a segment; the default one if the file does not contain it.
model::PoolId slowPool(const model::Trace& trace, model::SegmentId segment);

}  // namespace tidegauge::testing
