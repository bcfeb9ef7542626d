// limitOf(): how much a process could reserve, where its file does not tell.
//
//   reserved   …▁▂▃▅▇  refused  ▅▇▇  OOM with 30 GiB free in the driver   a memory fraction
//   collected      ↓ when more than threshold · limit was reserved         by bisection: every
//                                                                          event equal
//
// torch.cuda.set_per_process_memory_fraction() leaves no trace in a snapshot, and a fraction in the
// settings is of a device whose size is not there. What it does is: refusals, and the moments at
// which garbage was collected. Any limit between what was reserved at the most and what was refused
// at the least does the same under the recording's own settings; the least of them is what others
// are tried under, so that none seems better than it is. Cost: of collections some 20 replays, each
// to its first difference.
#pragma once

#include "replay/verify.h"

namespace tidegauge::replay {

struct Limit {
  uint64_t least_bytes = 0, most_bytes = 0;  // all of these explain the trace
};

// Under `verified`, which knows no limit. Nothing: none is needed to explain the trace, or none
// does. `most_reserved_bytes`: at any step of it.
std::optional<Limit> limitOf(const model::Trace& trace, const model::Device& device,
                             const VerifyOptions& options, const Verification& verified,
                             uint64_t most_reserved_bytes);

}  // namespace tidegauge::replay
