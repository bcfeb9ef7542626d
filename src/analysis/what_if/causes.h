// Causes of an out-of-memory event that no allocator setting removes, and what a replay of each
// remedy shows. `report` has them among its advice; `whatif` begins with them.
//
//   kReleasePool        graph pool 3 keeps 600 MiB free    it is released before step 812
//   kFlushBeforeCapture a capture prevented the flush      not replayed: its begin is unknown
//   kMemoryFraction     0.5 of the device is too little    0.55 of it is allowed
//   kEmptyCache         2.1 GiB were free at step 700      the cache is emptied there
//
// Cost: a replay per cause (advised_change.h).
#pragma once

#include <optional>
#include <vector>

#include "analysis/oom/advice.h"
#include "analysis/what_if/proven_program.h"

namespace tidegauge::analysis {

// What the program must do, or the machine must have, whatever the settings are. (How much less it
// would have to hold is in fit_factor.h.)
bool isOutsideSettings(AdviceKind kind);

// Replays what such advice proposes, as far as that is a change of the program or of its limit.
void addCauseEffects(const ProvenProgram& program, std::vector<Advice>& advice);

// What helps first, fewer failures before more; then what no replay tested; last what one
// disproves.
void orderByEffect(std::vector<Advice>& advice);

// Of the worst out-of-memory event; empty: there is none. `total_bytes`: see verdictOptions.
std::vector<Advice> causesOf(const ProvenProgram& program, std::optional<uint64_t> total_bytes);
// The same from advice that has its effects, in its order.
std::vector<Advice> causesIn(const std::vector<Advice>& advice);

}  // namespace tidegauge::analysis
