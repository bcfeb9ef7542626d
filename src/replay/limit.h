// limitOf(): how much memory a process could reserve, if its file does not contain that.
//
//   reserved   …▁▂▃▅▇  refused  ▅▇▇  OOM with 30 GiB free in the driver   a memory fraction
//   collected      ↓ when more than threshold · limit was reserved         by bisection: every
//                                                                          event equal
//
// torch.cuda.set_per_process_memory_fraction() leaves no trace in a snapshot, and a fraction in the
// settings refers to a device of unknown size. Its effects are visible: refusals, and the moments
// of garbage collections. All limits between the most that was reserved and the least that was
// refused have the same effect under the recording's own settings. Other settings are tried under
// the smallest of them, so that none seems better than it is. A collection looks like an
// empty_cache() of the program just before the request, so the limit that explains the most
// collections counts. Cost: for collections some 20 replays, each to its first difference; if no
// limit explains all events, some 20 more.
#pragma once

#include "replay/verify.h"

namespace tidegauge::replay {

struct Limit {
  uint64_t least_bytes = 0, most_bytes = 0;  // every limit in this range explains the trace
};

// Explains more events, or as many with fewer guesses: calls of empty_cache() by the program, and
// refusals by the driver.
bool explainsMore(const Verification& a, const Verification& b);

// `verified` is the verification without a limit. Absent: the trace needs none, or none explains
// it. `most_reserved_bytes`: at any step of it.
std::optional<Limit> limitOf(const model::Trace& trace, const model::Device& device,
                             const VerifyOptions& options, const Verification& verified,
                             uint64_t most_reserved_bytes);

}  // namespace tidegauge::replay
