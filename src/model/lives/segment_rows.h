// From the pieces of one device to rows of segments and pieces.
//
//   ordinary    [0,2 MiB) 3→9                                  a segment
//   expandable  [0,20) 0→4   [20,40) 1→4  ·  [0,20) 7→end      two segments: touching ranges are
//                                                              one, cut where nothing was mapped
//
// Cost: O(pieces × log pieces).
#pragma once

#include <vector>

#include "model/trace.h"

namespace tidegauge::model {

// A range of addresses from the step of its allocation or mapping to the step of its removal.
struct Piece {
  uint64_t begin = 0;
  uint64_t end = 0;
  Step first = 0;
  Step last = 0;
  bool expandable = false;
  bool proven = false;  // by blocks alone: its segment is unknown (proven_segments.h)
  bool born_in_trace = false;
  bool lost = false;
  bool ended_by_event = false;
  StackId stack;
  StreamId stream;
  PoolId pool;
  uint32_t final_segment = UINT32_MAX;  // row of the final segment that contains it, if any
};

// Appends to trace.segments and trace.pieces, sets the device's ranges of them,
// final_segments.segment and events.subject of segment events.
void writeSegmentRows(Trace& trace, Device& device, const std::vector<Piece>& pieces);

}  // namespace tidegauge::model
