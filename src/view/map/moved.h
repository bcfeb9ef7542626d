// The new position of a row after the recording has grown. Rows are numbered device by device, so
// those of a device move when one before it grows:
//
//   device 0: rows 0 … 9     row 12 is the third of device 1     device 0: rows 0 … 14
//   device 1: rows 10 … 19                                       device 1: the same block is row 17
//
// Cost: O(1) if its position within the device is unchanged, else one pass over the device's rows.
#pragma once

#include <cstdint>
#include <optional>

#include "model/trace.h"

namespace tidegauge::view {

// The same life of the same address; absent if it is missing.
std::optional<uint32_t> movedAllocation(const model::Trace& before, const model::Trace& now,
                                        uint32_t row);
std::optional<uint32_t> movedSegment(const model::Trace& before, const model::Trace& now,
                                     uint32_t row);

}  // namespace tidegauge::view
