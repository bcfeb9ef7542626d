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
// the smallest of them, so that none seems better than it is. Cost: for collections some 20
// replays, each to its first difference.
#pragma once

#include "replay/verify.h"

namespace tidegauge::replay {

struct Limit {
  uint64_t least_bytes = 0, most_bytes = 0;  // every limit in this range explains the trace
};

// `verified` is the verification without a limit. Absent: the trace needs none, or none explains
// it. `most_reserved_bytes`: at any step of it.
std::optional<Limit> limitOf(const model::Trace& trace, const model::Device& device,
                             const VerifyOptions& options, const Verification& verified,
                             uint64_t most_reserved_bytes);

}  // namespace tidegauge::replay
