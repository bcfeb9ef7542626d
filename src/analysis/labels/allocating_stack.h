// Whose memory a block is: the stack that allocated it. Where only the free was seen, its stack
// says nothing about that.
#pragma once

#include "model/trace.h"

namespace tidegauge::analysis {

inline model::StackId allocatingStack(const model::Allocations& a, uint64_t row) {
  return a.has(row, model::kStackIsOfFree) ? model::StackId() : a.stack[row];
}

}  // namespace tidegauge::analysis
