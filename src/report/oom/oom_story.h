// The verdict on an out-of-memory event, in sentences.
//
//   Fragmentation: 807 MiB lay free in 27 pieces, the largest 112 MiB, and 3,842 MiB at the driver:
//   enough together, but for no piece alone. 166 MiB were missing.
//   34,549 MiB live + 807 MiB free inside segments + 3,842 MiB at the driver = 39,198 MiB …
//   12 blocks of 64 KiB from optimizer.py:88 keep 1.9 GiB from being returned.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/oom/oom_verdict.h"
#include "report/words/sentence.h"

namespace tidegauge::report {

// One per verdict, most bytes first; if there is none, one that says so.
std::vector<Sentence> verdictSentences(const analysis::OomVerdict& verdict);
// The private pools behind the verdict, at most `most`: what each keeps, and who lives in it.
std::vector<Sentence> poolSentences(const analysis::AnalysedTrace& analysed,
                                    const analysis::OomVerdict& verdict, size_t most);
// "It was refused 120 times in a row, first at 2026-11-22 15:03:12 UTC, last 12.300 s later."; for
// a series "Its call site was refused 5 times in a row, from 8 GiB down to 512 MiB, …". One
// sentence, or none for a single refusal.
std::vector<Sentence> refusalSentences(const analysis::DeviceAnalysis& device,
                                       const std::vector<analysis::OomReport>& ooms, size_t index);
// After the name of a holder whose memory is all in MemPools, which an allocator of their own may
// have unmapped: " (MemPool)"; " (unmapped)" if the sum exceeds the device. Else empty.
std::string poolMark(const model::Trace& trace, const std::optional<analysis::OomVerdict>& verdict,
                     const analysis::StackGroup& group);
// L + F + D + other = T, or L + F + D = C. `unmapped_bytes` of MemPools may not be on the device
// (OomVerdict::unmappedBytes()): above 0, C is an upper bound.
Sentence sumSentence(const analysis::OomVerdict& verdict, uint64_t unmapped_bytes = 0);
// For the major ones (pinned.h), in their order. Empty if nothing is pinned.
std::vector<Sentence> pinSentences(const analysis::AnalysedTrace& analysed, int device,
                                   const analysis::Pinned& pinned, analysis::Step step,
                                   size_t most);

// The SQL table of the verdict's numbers: "oom_verdicts(0)", or "oom_verdicts_at(0, 85899345920)"
// for a device whose size the user gave.
std::string verdictTable(const analysis::OomVerdict& verdict);
// The same for the advice.
std::string adviceTable(int device, std::optional<uint64_t> capacity_bytes);
Link oomPage(analysis::Step step);

}  // namespace tidegauge::report
