// Driver memory older than the recording, as far as the framework's blocks show it: a block outside
// known segments is in a segment that was allocated before.
//
//   alloc 0x7f00 +4,096 · free · cudaFree 0x7000, never allocated     → segment_free 0x7f00 +4,096
//   alloc 0x9000 +8,192 · free                                        → [0x9000, 0xb000) to the end
//
// Everything here is a lower bound: a segment was at least as large as the blocks in it. A free of
// an unknown address ends the memory between it and the next such address, unless a later block is
// placed there. Cost: O(rows + blocks × log blocks).
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
  uint64_t ended = 0, ended_bytes = 0;   // those whose end is now in `rows`
};

// `rows` are in order of time, with their devices. A free of unknown memory becomes the
// segment_free rows of the memory that it ended, or is removed.
OlderSegments settleOlderSegments(std::vector<EventRow>& rows);

}  // namespace tidegauge::readers::recording
