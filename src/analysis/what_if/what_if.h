// What if: which setting of PyTorch's allocator, or which card, would have helped; with a replay as
// proof.
//
//   verified   37,378 of 37,378 events exact          the simulator does what PyTorch did
//   own        peak reserved 8.63 GiB, 2 OOMs         … so these are PyTorch's own figures
//   candidates expandable_segments:True  4.24 GiB, 0 OOMs   ← the first is the best
//
// Known candidates change some of the recording's own settings and keep the rest; a wish replaces
// all. Ranked: fewer OOMs, then less reserved at the peak, then fewer calls of the driver. They run
// side by side, one thread each. Cost: about 0.1 µs an event and candidate, 32 bytes a request
// once. Facts: docs/explain/replay.md.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "analysis/growth/wall.h"
#include "analysis/what_if/program_edit.h"
#include "replay/verify.h"
#include "replay/what_if.h"

namespace tidegauge::analysis {

// What others may differ in, where the tie-break is by address: what the driver's placement does to
// the peak.
struct PlacementRange {
  uint64_t least_bytes = 0, most_bytes = 0;
  uint64_t least_ooms = 0, most_ooms = 0;
};

struct Replayed {
  std::string conf;  // the whole of PYTORCH_CUDA_ALLOC_CONF; empty: nothing is set
  replay::Settings settings;
  replay::Stats stats;
  uint64_t unused_at_peak_bytes = 0;     // in no block while most is in blocks: the least
  uint64_t reserved_at_start_bytes = 0;  // older than the recording
  std::vector<replay::Failure> failures;
  uint64_t rescued = 0;
  std::optional<Step> first_rescued, forecast_from, stopped_at;
  std::optional<PlacementRange> peak_reserved_range;  // TieBreak::kAddress alone
  std::optional<double> driver_s;                     // of WhatIfWish::driver_call_us
  // Of WhatIfWish::min_capacity. Not set: not asked, none does, or nothing is proven.
  std::optional<uint64_t> min_capacity_bytes;
  bool is_wished = false;  // its conf is one of the wish
  // Of WhatIfWish::columns equal parts of the steps: the highest of each.
  std::vector<uint64_t> reserved_line, active_line;

  uint64_t peakReservedBytes() const {
    return static_cast<uint64_t>(stats[replay::Quantity::kReservedBytes].all.peak);
  }
  // However the driver places what it gives.
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
  // What is known of it depends on how the driver places what it gives.
  bool hasRange() const {
    return leastReservedBytes() != mostReservedBytes() || leastOoms() != mostOoms();
  }
  uint64_t peakActiveBytes() const {
    return static_cast<uint64_t>(stats[replay::Quantity::kActiveBytes].all.peak);
  }
  // To the last figure that is shown.
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

// The recording's own settings, another program.
struct ReplayedEdit {
  ProgramEdit edit;
  uint64_t requests = 0, bytes = 0;  // that were changed, and what they had asked for
  Replayed replayed;
};

struct WhatIfWish {
  std::vector<ProgramEdit> edits;  // each by itself
  std::vector<std::string> confs;  // each the whole string; none: those that are known to help
  std::optional<uint64_t> capacity_bytes;
  std::optional<double> fraction;        // that the program set (set_per_process_memory_fraction)
  std::optional<double> driver_call_us;  // what one call of the driver is taken to cost
  bool with_known = false;               // those that are known as well as `confs`
  size_t columns = 0;                    // of lines; 0: none
  bool verify_only = false;
  bool min_capacity =
      false;  // of the own settings, of each that is wished, of the best, of each edit
};

struct WhatIf {
  replay::Verification verified;  // without its program
  std::optional<uint64_t> capacity_bytes;
  CapacitySource capacity_source = CapacitySource::kUnknown;
  // All of the device's, where the recording's own memory fraction tells that it is more than that:
  // the least.
  std::optional<uint64_t> device_bytes;
  std::optional<double>
      fraction;  // of the wish: what the program had set, and each candidate has too
  // A limit of the process that the file does not tell, and the trace does (replay/limit.h): it was
  // that or more, at the most so much. What is asked about another card has that for its limit.
  std::optional<uint64_t> limit_bytes, limit_most_bytes;
  // Nothing helps under the least limit; from another on, which explains the recording as well,
  // something would.
  struct FromLimit {
    std::string conf;
    uint64_t limit_bytes = 0;
    uint64_t ooms = 0;  // there
  };
  std::optional<FromLimit> helps_from;
  // Under its limit, as far as the file tells: the most that was reserved, and what failed.
  uint64_t recorded_peak_bytes = 0, recorded_ooms = 0;
  Replayed own;
  std::vector<ReplayedEdit> edits;   // as wished
  std::vector<Replayed> candidates;  // best first
  bool are_known = false;            // the candidates are those that are known to help, not a wish
  bool are_mixed = false;            // … or both
  bool best_helps = false;  // the first is better than the recording's own by more than a little

  // The rules explain the recording but for a tenth of it; otherwise figures are of another
  // program.
  bool isProven() const {
    uint64_t all = verified.events_checked + verified.unchecked;
    return verified.events_exact >= all - all / 10;
  }
  // What the process could have; none: not known.
  std::optional<uint64_t> availableBytes() const {
    uint64_t least = capacity_bytes.value_or(replay::kUnlimited);
    bool is_other_card = capacity_source == CapacitySource::kGiven;
    if (limit_bytes && !is_other_card) least = std::min(least, *limit_bytes);
    if (auto of_device = device_bytes ? device_bytes : capacity_bytes)
      least = std::min(least, verified.settings.capBytes(*of_device));
    return least == replay::kUnlimited ? std::nullopt : std::optional(least);
  }
  // The replay under its own settings met what the recording did: if not, something that is not
  // told was at work.
  bool ownIsAsRecorded() const {
    return capacity_source != CapacitySource::kGiven && !own.stopped_at &&
           own.leastOoms() <= recorded_ooms && recorded_ooms <= own.mostOoms() &&
           own.leastReservedBytes() <= recorded_peak_bytes &&
           recorded_peak_bytes <= own.mostReservedBytes();
  }
};

// Whether PyTorch's caching allocator hands out this device's memory: nothing else is replayed.
bool isReplayable(const DeviceAnalysis& device);

// Only of devices that are replayable. Errors: a conf of the wish
// that PyTorch would refuse.
base::Result<WhatIf> whatIf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                            const WhatIfWish& wish);

// The recording that `conf` (the whole string) would have left behind: to be looked at as any
// other. Its issue kReplayed says what it is. Errors as whatIf.
base::Result<model::Trace> replayedTrace(const AnalysedTrace& analysed,
                                         const DeviceAnalysis& device, const std::string& conf,
                                         std::optional<uint64_t> capacity_bytes);

// Two that fight: small requests may not use the large free stretches that expandable segments
// have.
inline bool fights(const replay::Settings& settings) {
  return settings.expandable && settings.max_split_bytes != replay::kUnlimited;
}
// Garbage is never collected: a threshold is of a memory fraction below 1, and none is set.
inline bool hasIdleThreshold(const replay::Settings& settings) {
  return settings.gc_threshold > 0 && settings.capBytes(uint64_t{1} << 40) == replay::kUnlimited;
}

}  // namespace tidegauge::analysis
