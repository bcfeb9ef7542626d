// Which kinds of events does a recording lack although they happened? PyTorch leaves kinds out on
// request (skip_actions of _record_memory_history), and the file does not say so.
//
//   alloc x · alloc x · alloc x      x was freed in between: the frees are missing
//   free x · free x                  x was allocated in between: the allocs are missing
//   alloc y outside every segment    its segment_alloc and segment_free are missing
//   nothing was allocated at first, and each segment has the size that its first block needs: the
//   segment_allocs are missing
//
// A kind is missing if no event of it is there and the others prove three times that it happened.
// So a program that never frees, or a recording that began late, lacks nothing.
//
// Without the allocs or frees a block's life has one known end. It is drawn as long as it can have
// been: totals are then upper bounds ("at most"). Without the births of segments, only the memory
// that blocks prove is drawn as reserved: a lower bound ("at least").
//
// Cost: one pass over the actions; if a kind is absent, O(events) more with one hash lookup each.
#pragma once

#include <cstdint>
#include <string>

#include "model/trace.h"

namespace tidegauge::model {

ActionSet missingActions(const Trace& trace, const Device& device);

// "alloc", "free_requested, free_completed"
std::string namesOf(ActionSet actions);

// How a total relates to the truth, apart from sizes that only requests show.
enum class Bound : uint8_t { kExact, kAtLeast, kAtMost };
struct Bounds {
  Bound active = Bound::kExact;  // and requested, which has the same lives
  Bound allocated = Bound::kExact;
  Bound reserved = Bound::kExact;
};
// Of the states between; the state at the end comes from the final state and is exact.
Bounds boundsOf(const Device& device);
// Neither allocs nor frees are recorded: blocks between the events are in no total. Then only the
// segments bound active memory from above. O(events) if allocs are missing.
bool blocksAreUnseen(const Trace& trace, const Device& device);
std::string_view name(Bound bound);  // "exact", "at_least", "at_most"

// The part of a life that is certain: `row` was live after steps [first, last).
struct CertainLife {
  Step first = 0;
  Step last = 0;
};
CertainLife certainLife(const Trace& trace, const Device& device, uint64_t row);

}  // namespace tidegauge::model
