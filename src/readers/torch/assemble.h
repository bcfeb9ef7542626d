// assemble: turns the top value of a file into a finished Trace. Events are rows already; this
// sorts them by device and reads everything else (segments, blocks, annotations, settings).
//
//   {"segments": […], "device_traces": [[event 0 … 999], []], …}  →  devices, final_segments, …
//
// Cost: O(items outside events) + one pass over the events' action and time columns.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/trace.h"
#include "readers/torch/columns/columns.h"

namespace tidegauge::readers::torch {

base::Status assemble(model::Trace& trace, Columns& columns, Value top);

// A snapshot inside dicts and lists of a program: {"rank": 3, "mem": {"segments": …}}.
struct FoundSnapshot {
  Value value;
  std::string path;  // "mem", "ranks[0].mem"; empty: the top value itself
};
// The snapshots in the top value, in its order; at most kMaxWrapped + 1. If there is none, the top
// value, of which assemble() says what it is.
std::vector<FoundSnapshot> findSnapshots(Columns& columns, Value top);
inline constexpr size_t kMaxWrapped = 64;  // each is read separately

// Parts of it, one file each.
base::Status assembleEvents(model::Trace& trace, Columns& columns, Value device_traces,
                            Value host_traces);
base::Status assembleSegments(model::Trace& trace, Columns& columns, Value segments,
                              Value host_segments);
void assembleAnnotations(model::Trace& trace, Columns& columns, Value list);
void assembleSettings(model::Trace& trace, Columns& columns, Value dict);
// Names of tensors that Tidegauge's own Python package adds to a snapshot.
void assembleTensors(model::Trace& trace, Columns& columns, Value dict);

// The row of the device with this ordinal, added if new. Ordinal −1 is pinned host memory.
model::Device& deviceRow(model::Trace& trace, int32_t ordinal);

// A dict with items that is neither an event nor a frame.
inline bool isOtherDict(const Values& values, Value value) {
  return value.tag() == Tag::kDict && values.tree().itemCount(value.index()) > 0 &&
         values.shapeOf(value) == Values::Shape::kOther;
}

using model::kHostOrdinal;
inline constexpr int64_t kMaxDevices = 1024;

}  // namespace tidegauge::readers::torch
