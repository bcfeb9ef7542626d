// What if: which setting of PyTorch's allocator, or which card, would have helped, proven by
// replay.
//
//   verified   37,378 of 37,378 events exact          the simulator does what PyTorch did
//   own        peak reserved 8.63 GiB, 2 OOMs         … so these figures are PyTorch's own
//   candidates expandable_segments:True  4.24 GiB, 0 OOMs   ← the first is the best
//
// Known candidates change some of the recording's settings and keep the rest; a wish replaces all.
// Ranked: fewer OOMs, then less reserved at the peak, then fewer driver calls. They run in
// parallel, one per processor at a time. Cost: about 0.1 µs per event and candidate; 32 bytes per
// request once, and per running candidate 4 bytes per allocation and 56 to 100 per block.
// Facts: docs/explain/replay.md.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/growth/wall.h"
#include "analysis/oom/advice.h"
#include "analysis/what_if/fit_factor.h"
#include "analysis/what_if/program_edit.h"
#include "replay/verify.h"
#include "replay/what_if.h"

namespace tidegauge::analysis {

// The possible outcomes if the allocator breaks ties by address: they depend on where the driver
// places segments.
struct PlacementRange {
  uint64_t least_bytes = 0, most_bytes = 0;
  uint64_t least_ooms = 0, most_ooms = 0;
};

struct Replayed {
  std::string conf;  // the complete PYTORCH_CUDA_ALLOC_CONF; empty: nothing is set
  replay::Settings settings;
  replay::Stats stats;
  uint64_t unused_at_peak_bytes = 0;     // in no block at peak active bytes: the least
  uint64_t reserved_at_start_bytes = 0;  // older than the recording
  std::vector<replay::Failure> failures;
  uint64_t rescued = 0;
  std::optional<Step> first_rescued, forecast_from, stopped_at;
  std::optional<PlacementRange> peak_reserved_range;  // TieBreak::kAddress alone
  std::optional<double> driver_s;                     // of WhatIfWish::driver_call_us
  // See WhatIfWish::min_capacity. Absent: not requested, none suffices, or nothing is proven.
  std::optional<uint64_t> min_capacity_bytes;
  bool is_wished = false;  // its conf is one of the wishes
  // WhatIfWish::columns equal parts of the steps: the maximum of each.
  std::vector<uint64_t> reserved_line, active_line;

  std::optional<Step> firstFailingStep() const {
    return failures.empty() ? std::nullopt : std::optional(failures.front().step);
  }
  std::vector<Step> failingSteps() const {
    std::vector<Step> steps;
    steps.reserve(failures.size());
    for (const replay::Failure& failure : failures) steps.push_back(failure.step);
    return steps;
  }
  uint64_t peakReservedBytes() const {
    return static_cast<uint64_t>(stats[replay::Quantity::kReservedBytes].all.peak);
  }
  // Wherever the driver places segments.
  uint64_t mostReservedBytes() const {
    return peak_reserved_range ? peak_reserved_range->most_bytes : peakReservedBytes();
  }
  uint64_t leastReservedBytes() const {
    return peak_reserved_range ? peak_reserved_range->least_bytes : peakReservedBytes();
  }
  uint64_t mostOoms() const {
    return peak_reserved_range ? peak_reserved_range->most_ooms : stats.ooms;
  }
  uint64_t leastOoms() const {
    return peak_reserved_range ? peak_reserved_range->least_ooms : stats.ooms;
  }
  // Some outcomes depend on where the driver places segments.
  bool hasRange() const {
    return leastReservedBytes() != mostReservedBytes() || leastOoms() != mostOoms();
  }
  uint64_t peakActiveBytes() const {
    return static_cast<uint64_t>(stats[replay::Quantity::kActiveBytes].all.peak);
  }
  // Equal to the last digit shown.
  bool isAs(const Replayed& other) const {
    return !stopped_at && !other.stopped_at && peakReservedBytes() == other.peakReservedBytes() &&
           peakActiveBytes() == other.peakActiveBytes() &&
           unused_at_peak_bytes == other.unused_at_peak_bytes &&
           stats.retries == other.stats.retries && stats.ooms == other.stats.ooms &&
           driverCalls() == other.driverCalls() &&
           mostReservedBytes() == other.mostReservedBytes() && mostOoms() == other.mostOoms();
  }
  uint64_t driverCalls() const { return stats.driver_allocs + stats.driver_frees; }
};

// The recording's own settings with another program.
struct ReplayedEdit {
  ProgramEdit edit;
  uint64_t requests = 0, bytes = 0;  // requests changed, and the bytes they had requested
  Replayed replayed;
};

// How candidates are replayed; their results do not depend on it.
struct Effort {
  size_t threads = 0;  // 0: one per processor
  // Called when a candidate is done, from any thread, one call at a time. A second round, under
  // another limit, counts from 1 again.
  std::function<void(size_t done, size_t of)> progress{};
  // Once requested, whatIf() fails, without a further replay of a candidate. Verification, the fit
  // and the causes are finished first.
  std::stop_token stop{};
};

struct WhatIfWish {
  std::vector<ProgramEdit> edits;  // each applied alone
  std::vector<std::string> confs;  // each a complete string; none: the settings known to help
  // The device and the fraction that the program sets (set_per_process_memory_fraction): as asked
  // about. A capacity without a fraction: no fraction. A fraction alone: of the recorded device.
  // Neither: as recorded.
  std::optional<uint64_t> capacity_bytes;
  std::optional<double> fraction;
  // The same as recorded; absent: inferred from the trace.
  std::optional<uint64_t> recorded_capacity_bytes;
  std::optional<double> recorded_fraction;
  // capacity_bytes is also the size of the recorded device (as in `report --capacity`): what
  // PyTorch counted beyond it was unmapped.
  bool is_own_capacity = false;
  std::optional<double> driver_call_us;  // the assumed cost of one driver call
  bool with_known = false;               // the known settings as well as `confs`
  size_t columns = 0;                    // of lines; 0: no lines
  bool verify_only = false;
  bool min_capacity = false;  // for the own settings, each wish, the best one and each edit
  bool with_fit = false;      // how much less the program would have to hold, if a request fails
  bool with_causes = false;   // causes outside the settings, if a request fails
  Effort effort{};
};

struct WhatIf {
  replay::Verification verified;  // without its program
  std::optional<uint64_t> capacity_bytes;
  CapacitySource capacity_source = CapacitySource::kUnknown;
  // The least size of the device, if the recording's memory fraction implies that it is more than
  // the capacity.
  std::optional<uint64_t> device_bytes;
  // Set by the program, as recorded or as asked about, so each candidate has it too.
  std::optional<double> fraction;
  // A limit of the process that the file does not contain but the trace implies (replay/limit.h):
  // at least limit_bytes, at most limit_most_bytes. For another card, that card is the limit.
  std::optional<uint64_t> limit_bytes, limit_most_bytes;
  // Nothing helps under the least limit. Under another limit, which explains the recording as well,
  // something would.
  struct FromLimit {
    std::string conf;
    uint64_t limit_bytes = 0;
    uint64_t ooms = 0;  // under that limit
  };
  std::optional<FromLimit> helps_from;
  // Of the wish.
  std::optional<uint64_t> recorded_capacity_bytes;
  std::optional<double> recorded_fraction;
  // The device has a MemPool whose own allocator may have unmapped memory that PyTorch counts.
  // A capacity from an out-of-memory event is then an upper bound.
  bool may_be_unmapped = false;
  // Of the memory that PyTorch counted, at the largest ceiling of an out-of-memory event, what was
  // not on the device: it is beyond the device's size. PyTorch counts as much in each replay.
  uint64_t unmapped_bytes = 0;
  // What the file shows under its limit: the most that was reserved, and the failures.
  uint64_t recorded_peak_bytes = 0, recorded_ooms = 0;
  Replayed own;
  std::vector<ReplayedEdit> edits;   // as wished
  std::vector<Replayed> candidates;  // best first
  bool are_known = false;            // the candidates are the settings known to help, not a wish
  bool are_mixed = false;            // … or both
  bool best_helps = false;           // the first beats the recording's own settings noticeably
  std::optional<FitFactor> fit;      // of WhatIfWish::with_fit
  // Of WhatIfWish::with_causes: the advice of `report` that no setting replaces (causes.h).
  std::vector<Advice> causes;

  // The rules explain at least nine tenths of the recording; otherwise the figures describe another
  // program.
  bool isProven() const {
    uint64_t all = verified.events_checked + verified.unchecked;
    return verified.events_exact >= all - all / 10;
  }
  // The capacity as PyTorch counts: with what it counts, although it is not on the device.
  std::optional<uint64_t> countedBytes() const {
    return capacity_bytes ? std::optional(*capacity_bytes + unmapped_bytes) : std::nullopt;
  }
  // What the process could have; absent: unknown.
  std::optional<uint64_t> availableBytes() const {
    uint64_t least = countedBytes().value_or(replay::kUnlimited);
    bool is_other_card = capacity_source == CapacitySource::kGiven;
    if (limit_bytes && !is_other_card) least = std::min(least, *limit_bytes);
    if (auto of_device = device_bytes ? device_bytes : capacity_bytes)
      least = std::min(least, verified.settings.capBytes(*of_device));
    return least == replay::kUnlimited ? std::nullopt : std::optional(least);
  }
  // The replay under its own settings gave the recorded outcome. If not, something unrecorded had
  // an effect.
  bool ownIsAsRecorded() const { return isAsRecorded(own); }
  bool isAsRecorded(const Replayed& it) const {
    return capacity_source != CapacitySource::kGiven && !it.stopped_at &&
           it.leastOoms() <= recorded_ooms && recorded_ooms <= it.mostOoms() &&
           it.leastReservedBytes() <= recorded_peak_bytes &&
           recorded_peak_bytes <= it.mostReservedBytes();
  }
};

// Fewer failures (at most half of them); or, without failures, noticeably less at the peak. False
// if the replay proves nothing. `own`: the recording's own settings on the same device.
bool helps(const Replayed& tried, const Replayed& own, const WhatIf& report);
inline bool helps(const Replayed& tried, const WhatIf& report) {
  return helps(tried, report.own, report);
}
// Fewer requests fail, but not so few that it helps.
bool helpsTooLittle(const Replayed& tried, const WhatIf& report);
// The candidates that do, best first.
std::vector<const Replayed*> tooLittle(const WhatIf& report);

// Whether PyTorch's caching allocator serves this device: only that is replayed.
bool isReplayable(const DeviceAnalysis& device);

// The same for a program that is verified already; of the wish, the device does not count.
base::Result<WhatIf> whatIf(const ProvenProgram& proven, const WhatIfWish& wish);

// Only for replayable devices. Errors: a conf of the wish that PyTorch would reject; a stop.
base::Result<WhatIf> whatIf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                            const WhatIfWish& wish);

// The recording that `conf` (a complete string) would have produced, to be analysed like any other.
// Its issue kReplayed marks it. Errors: see whatIf.
base::Result<model::Trace> replayedTrace(const AnalysedTrace& analysed,
                                         const DeviceAnalysis& device, const std::string& conf,
                                         std::optional<uint64_t> capacity_bytes);

// These settings conflict: small requests may not use the large free ranges of expandable segments.
inline bool fights(const replay::Settings& settings) {
  return settings.expandable && settings.max_split_bytes != replay::kUnlimited;
}
// Garbage collection never runs: its threshold needs a memory fraction below 1, and none is set.
inline bool hasIdleThreshold(const replay::Settings& settings) {
  return settings.gc_threshold > 0 && settings.capBytes(uint64_t{1} << 40) == replay::kUnlimited;
}

}  // namespace tidegauge::analysis
