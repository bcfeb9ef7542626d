// What to try, and the numbers that support it. The words are in report/oom/advice_words.h.
//
//   fragmentation, expandable_segments not set
//     → kExpandable, setting "expandable_segments:True"
//       missing_bytes 166 MiB (verdict), free_bytes 807 MiB in pieces 27 (free parts at step 812)
//
// Rules of thumb over the facts in the file. proveAdvice (what_if/replay_proof.h) adds what a
// replay says about each. Advice never repeats a setting that is set already, nor one that the
// recorded version of PyTorch lacks. Rules and their sources: docs/explain/oom.md. Cost: O(steps
// since the last flush + steps / 128 + live).
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
  kPool,              // the default pool holds it, and a private pool requests it
  kStream,            // another stream holds it
  kMemoryFraction,    // a limit of the process
  kGcNeedsFraction,   // garbage_collection_threshold does nothing alone
  kTryAgain,          // the allocator does not search twice
  kOtherProcesses,
  kReleasePool,         // a private pool holds it
  kFlushBeforeCapture,  // no flush is possible during a capture
  kCheckRequest,        // the request is larger than could ever fit
  kNotInEffect,         // a setting was requested, but this platform does not have it
  kReplayedSetting,     // found by replay alone
};
std::string_view name(AdviceKind kind);  // "expandable_segments", …

struct Evidence {
  enum class Unit : uint8_t { kBytes, kCount, kPercent };
  std::string name;  // stable: "missing_bytes"
  uint64_t value = 0;
  Unit unit = Unit::kBytes;
  std::string source;  // where it comes from, in words
};

std::string_view name(Evidence::Unit unit);  // "bytes", "count", "percent"

// What a replay of the recorded program with this advice shows.
struct AdviceEffect {
  bool helps = false;
  uint64_t ooms_before = 0, ooms_after = 0;  // failing requests; after: the most
  uint64_t least_ooms_after = 0;             // wherever the driver places segments
  std::optional<Step> first_failing_step{};  // with the advice
  std::vector<Step> failing_steps{};         // with the advice; the first 1,000
  uint64_t peak_reserved_before_bytes = 0, peak_reserved_after_bytes = 0;
  // Requests that failed when recorded and succeed here are freed at once: the peak may be higher.
  bool peak_is_at_least = false;
  uint64_t freed_live_bytes = 0;        // what was live in the pool that the replay releases
  std::string conf{};                   // the complete PYTORCH_CUDA_ALLOC_CONF; of a setting
  std::optional<Step> forecast_from{};  // from here on the program would have behaved differently
  // Fewer requests fail, but not so few that it helps.
  bool isTooLittle() const { return !helps && ooms_after < ooms_before; }
};

struct Advice {
  AdviceKind kind;
  std::string setting{};       // "expandable_segments:True", or empty
  std::optional<Step> step{};  // where
  AllocatorKind allocator = AllocatorKind::kCaching;
  StackId stack{};                       // that it names
  std::optional<uint32_t> annotation{};  // a phase that it names
  model::PoolId pool{};                  // that it names
  std::vector<Evidence> evidence{};
  std::optional<AdviceEffect> effect{};  // absent: not replayed

  const Evidence* find(std::string_view evidence_name) const;
  bool has(std::string_view evidence_name) const { return find(evidence_name) != nullptr; }
  uint64_t value(std::string_view evidence_name) const {  // 0 if absent
    const Evidence* found = find(evidence_name);
    return found == nullptr ? 0 : found->value;
  }
  // A replay disproves it.
  bool isDisproved() const { return effect && !effect->helps; }
};

// After an out-of-memory event. Best first.
std::vector<Advice> adviceOn(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                             const OomVerdict& verdict);
// Without such an event: on memory that was reserved and not used.
std::vector<Advice> adviceOn(const AnalysedTrace& analysed, const DeviceAnalysis& device);

}  // namespace tidegauge::analysis
