// OlderBlock: a block without an alloc event. Kept beside the rows of traced allocations while a
// device's events are read, and merged with them at the end.
//
//   events:  free x  ·  alloc y  ·  free y          final state: w
//   traced:  y 1→2                                  older: x before→0, w (a ghost) before→end
//
// Used by lives.cpp only.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "model/trace.h"

namespace tidegauge::model {

struct OlderBlock {
  uint64_t address = 0;
  uint64_t requested_bytes = 0;
  uint64_t block_bytes = 0;
  SegmentId segment;
  StackId stack;
  Step first_step = 0;
  Step last_step = 0;
  Step free_requested_step = kNoStep;
  uint32_t version = 0;
  StreamId stream;
  PoolId pool;
  Provenance provenance = Provenance::kBeforeRecording;
  uint8_t flags = 0;
  StringId category;
};

// A block while rows are not final: the number of a traced row of the device, or, with this bit, an
// index into the older blocks.
using BlockNumber = uint32_t;
inline constexpr BlockNumber kNoBlock = UINT32_MAX;
inline constexpr BlockNumber kOlderBit = uint32_t{1} << 31;

// A ghost cannot have existed while a recorded block was inside its range, so it begins after that
// block. Cost: O((blocks + ghosts) × log ghosts).
void cutGhosts(Trace& trace, const Device& device, std::vector<OlderBlock>& older);

// Merges the older blocks with the device's traced rows, in drawing order: ghosts, then
// before_recording with the longest lives lowest, then everything by first_step. Block numbers in
// events.subject become rows, those of final blocks go to final_blocks.allocation. Sets the
// device's range of allocations; its traced rows are the last ones. Cost: O(rows + older × log
// older).
void writeInDrawingOrder(Trace& trace, Device& device, const std::vector<OlderBlock>& older,
                         const std::vector<std::pair<uint64_t, BlockNumber>>& final_blocks);

}  // namespace tidegauge::model
