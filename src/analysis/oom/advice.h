// What to try, and the numbers that support it.
//
//   fragmentation, expandable_segments not set
//     → "Try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: …"
//       missing_bytes 166 MiB (verdict), free_bytes 807 MiB in pieces 27 (free parts at step 812)
//
// Rules of thumb over the facts in the file; only a replay shows what each would have done. Advice
// never repeats a setting that is set already, nor one that the recorded version of PyTorch lacks.
// Rules and their sources: docs/explain/oom.md. Cost: O(steps since the last flush + steps / 128 +
// live).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/oom/oom_verdict.h"

namespace tidegauge::analysis {

enum class AdviceKind : uint8_t {
  kNoSettingHelps,
  kHoldLess,          // smaller batch, fewer bytes live at this point
  kSmallerRequest,    // split the request that failed
  kExpandable,        // expandable_segments:True
  kSplitLimit,        // max_split_size_mb
  kLargerSplitLimit,  // … it is set, and forbids a block that would fit
  kNoSplitLimit,      // … it hurts together with expandable segments
  kNoRoundup,         // without roundup_power2_divisions
  kEmptyCache,        // torch.cuda.empty_cache() at a step where little is live
  kPool,              // a private pool holds it
  kStream,            // another stream holds it
  kMemoryFraction,    // a limit of the process
  kGcNeedsFraction,   // garbage_collection_threshold does nothing alone
  kTryAgain,          // the allocator does not search twice
  kOtherProcesses,
};
std::string_view name(AdviceKind kind);  // "expandable_segments", …

struct Evidence {
  enum class Unit : uint8_t { kBytes, kCount, kPercent };
  std::string name;  // stable: "missing_bytes"
  uint64_t value = 0;
  Unit unit = Unit::kBytes;
  std::string source;  // where it comes from, in words
};

struct Advice {
  AdviceKind kind;
  std::string text;            // one or two sentences, "Try …"
  std::string setting{};       // "expandable_segments:True", or empty
  std::optional<Step> step{};  // where
  std::vector<Evidence> evidence{};
};

// After an out-of-memory event. Best first.
std::vector<Advice> adviceOn(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                             const OomVerdict& verdict);
// Without such an event: on memory that was reserved and not used.
std::vector<Advice> adviceOn(const AnalysedTrace& analysed, const DeviceAnalysis& device);

}  // namespace tidegauge::analysis
