// fetch: asks the processor for memory that is needed some events later, as rows at random places.
//
//   for (i …) { fetch(&bytes[row_of[i + 24]]); sum += bytes[row_of[i]]; }
//
// __builtin_prefetch alone is not enough: GCC takes a function that does nothing else for one
// without effect, and removes its calls (GCC 12 did so in three places). Assembly stays.
// Cost: one instruction. A processor waits for some 16 lines of memory at a time, so a loop that
// only fetches is no faster than fetches with work between them.
#pragma once

namespace tidegauge::model {

inline void fetch(const void* memory) {
  __builtin_prefetch(memory);
  asm volatile("");
}

}  // namespace tidegauge::model
