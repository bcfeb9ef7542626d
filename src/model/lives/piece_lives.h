// Lives of segments: from segment events and the final segments of one device to rows of segments
// and pieces, including what existed before the recording.
//
//   events   map [0,20)   map [20,40)   unmap [10,30)        final   [0,10) [30,40) [50,60)
//   pieces   [0,10) 0→end   [10,20) 0→2   [20,30) 1→2   [30,40) 1→end   [50,60) before→end
//
// Touching ranges of an expandable segment are one row of segments; an ordinary segment is a row.
// Cost: O(segment events × log live pieces). Segment events are few (thousands in ten million).
#pragma once

#include "model/trace.h"

namespace tidegauge::model {

// Appends the device's rows to trace.segments and trace.pieces, sets the device's segment and piece
// ranges, final_segments.segment and events.subject of segment events.
void buildPieceLives(Trace& trace, Device& device);

}  // namespace tidegauge::model
