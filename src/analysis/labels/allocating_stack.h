// Whose memory a block is: the stack that allocated it. If only the free was recorded, its stack
// does not show that.
#pragma once

#include "model/trace.h"

namespace tidegauge::analysis {

inline model::StackId allocatingStack(const model::Allocations& a, uint64_t row) {
  return a.has(row, model::kStackIsOfFree) ? model::StackId() : a.stack[row];
}

}  // namespace tidegauge::analysis
