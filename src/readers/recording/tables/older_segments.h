// Memory of the driver that is older than the recording, as far as blocks of the framework show it:
// a block that lies in no known segment lies in one that was handed out before.
//
//   alloc 0x7f00 +4,096 · free · cudaFree 0x7000, never handed out    → segment_free 0x7f00 +4,096
//   alloc 0x9000 +8,192 · free                                        → [0x9000, 0xb000) to the end
//
// So everything is a lower bound: a segment was at least as large as the blocks seen in it. A free
// of an unknown address ends what lies between it and the next such address, as far as no block is
// placed there any more. Cost: O(rows + blocks × log blocks).
#pragma once

#include <cstdint>
#include <vector>

#include "readers/recording/tables/event_rows.h"

namespace tidegauge::readers::recording {

struct OlderSegment {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t stream = 0;
  int32_t device = kNotKnown;
};

struct OlderSegments {
  std::vector<OlderSegment> to_the_end;  // by address
  uint64_t ended = 0, ended_bytes = 0;   // those whose end is in `rows` now
};

// `rows` are in order of time, with their devices. Frees of unknown memory become the segment_free
// rows of what ended with them, or go.
OlderSegments settleOlderSegments(std::vector<EventRow>& rows);

}  // namespace tidegauge::readers::recording
