#include "analysis/what_if.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>
#include <thread>
#include <tuple>
#include <utility>

#include "analysis/allocator_rules.h"
#include "replay/limit.h"
#include "replay/model_driver.h"
#include "replay/written_trace.h"

namespace tidegauge::analysis {
namespace {

using replay::Settings;

// Less than this share of the peak is no help that anybody would notice.
constexpr uint64_t kNoticeable = 100;

bool hasCap(const Settings& it) { return it.capBytes(uint64_t{1} << 40) != replay::kUnlimited; }

// What is known to help somebody, as changes of the recording's own; what needs a cap only where the capacity is
// known.
std::vector<Settings> knownSettings(const Settings& own, bool has_capacity) {
  std::vector<Settings> found;
  auto add = [&](auto&& change) {
    Settings settings = own;
    change(settings);
    if (!(settings == own) && std::ranges::find(found, settings) == found.end())
      found.push_back(settings);
  };
  auto expandable = [](Settings& it) {
    it.expandable = true;
    it.max_split_bytes = replay::kUnlimited;  // they fight
  };
  auto collects = [](Settings& it) {
    it.gc_threshold = 0.8;
    if (!hasCap(it)) it.fraction = 0.95;
  };
  add(expandable);
  for (uint64_t mib : {64, 128, 256, 512})
    if (mib * replay::kMiB >= own.large_segment_bytes)
      add([&](Settings& it) {
        it.expandable = false;
        it.max_split_bytes = mib * replay::kMiB;
      });
  for (uint32_t divisions : {0, 2, 4, 8, 16})
    add([&](Settings& it) { it.roundup_divisions.fill(divisions); });
  add([&](Settings& it) {
    expandable(it);
    it.roundup_divisions.fill(8);
  });
  if ((has_capacity || hasCap(own)) && (own.gc_threshold == 0 || hasIdleThreshold(own))) {
    add(collects);
    add([&](Settings& it) {
      collects(it);
      it.expandable = false;
      it.max_split_bytes = std::max(128 * replay::kMiB, own.large_segment_bytes);
    });
  }
  add([](Settings& it) {  // PyTorch's defaults, of the same version, in the same program
    Settings plain;
    plain.tie = it.tie;
    plain.gc_needs_fraction_below_1 = it.gc_needs_fraction_below_1;
    plain.private_pools_expandable = it.private_pools_expandable;
    plain.fraction = it.fraction;
    plain.limit_bytes = it.limit_bytes;
    plain.without_effect = it.without_effect;
    plain.not_simulated = it.not_simulated;
    it = plain;
  });
  return found;
}

// The whole string, in the same program, which may have set a fraction, and version.
base::Result<Settings> wished(const Settings& own, const std::string& conf,
                              std::optional<double> fraction) {
  TG_ASSIGN_OR_RETURN(Settings settings, replay::parseConf(conf, own.not_simulated));
  settings.tie = own.tie;
  settings.gc_needs_fraction_below_1 = own.gc_needs_fraction_below_1;
  settings.private_pools_expandable = own.private_pools_expandable;
  if (!settings.fraction) settings.fraction = fraction;
  settings.limit_bytes = own.limit_bytes;
  return settings;
}

// The highest of each column; one without a request is as the one before it.
class LineWriter {
 public:
  LineWriter(Replayed& result, size_t columns, Step steps)
      : reserved_(result.reserved_line),
        active_(result.active_line),
        columns_(columns),
        steps_(steps) {}

  void take(Step step, uint64_t reserved_bytes, uint64_t active_bytes) {
    auto column = static_cast<size_t>(uint64_t{step} * columns_ / steps_);
    if (reserved_.empty()) {
      extend(column + 1, reserved_bytes, active_bytes);
    } else if (column >= reserved_.size()) {
      extend(column, reserved_.back(), active_.back());
      extend(column + 1, reserved_bytes, active_bytes);
    } else {
      reserved_.back() = std::max(reserved_.back(), reserved_bytes);
      active_.back() = std::max(active_.back(), active_bytes);
    }
  }
  void finish() {
    if (!reserved_.empty()) extend(columns_, reserved_.back(), active_.back());
  }

 private:
  void extend(size_t columns, uint64_t reserved_bytes, uint64_t active_bytes) {
    reserved_.resize(std::max(columns, reserved_.size()), reserved_bytes);
    active_.resize(reserved_.size(), active_bytes);
  }

  std::vector<uint64_t>&reserved_, &active_;
  size_t columns_;
  Step steps_;
};

// Calls `work(i)` for each i below `count`, on all processors.
template <class Work>
void eachAtOnce(size_t count, const Work& work) {
  std::atomic<size_t> next = 0;
  auto run = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  size_t threads = std::min<size_t>(std::max(1U, std::thread::hardware_concurrency()), count);
  std::vector<std::jthread> others;
  for (size_t i = 1; i < threads; ++i) others.emplace_back(run);
  run();
}

class Runs {
 public:
  Runs(const replay::Tape& tape, const replay::Program& program, const WhatIf& report,
       size_t columns)
      : tape_(tape),
        program_(program),
        capacity_bytes_(report.capacity_bytes),
        device_bytes_(report.device_bytes),
        columns_(columns) {}

  Replayed one(const std::string& conf, const Settings& settings) const {
    Replayed result = take(conf, settings, placementsOf(settings).front());
    if (placementsOf(settings).size() == 1) return result;
    uint64_t peak_bytes = result.peakReservedBytes();
    uint64_t ooms = result.stats.ooms;
    PlacementRange range{peak_bytes, peak_bytes, ooms, ooms};
    for (replay::Placement placement : placementsOf(settings).subspan(1)) {
      Replayed other = take(conf, settings, placement);
      if (other.stopped_at)
        result.stopped_at =
            std::min(result.stopped_at.value_or(*other.stopped_at), *other.stopped_at);
      range.least_bytes = std::min(range.least_bytes, other.peakReservedBytes());
      range.most_bytes = std::max(range.most_bytes, other.peakReservedBytes());
      range.least_ooms = std::min(range.least_ooms, other.stats.ooms);
      range.most_ooms = std::max(range.most_ooms, other.stats.ooms);
    }
    result.peak_reserved_range = range;
    return result;
  }

  std::vector<Replayed> all(const std::vector<std::pair<std::string, Settings>>& wanted) const {
    std::vector<Replayed> results(wanted.size());
    eachAtOnce(wanted.size(),
               [&](size_t i) { results[i] = one(wanted[i].first, wanted[i].second); });
    return results;
  }

  // The smallest device found on which nothing fails, nor on larger ones that were tried, to 2 MiB: none below what is live
  // at the peak can do. A larger one need not do because a smaller does: when what is cached is given back moves all the
  // rest. Nothing: none of 1 PiB does, or a replay took too long.
  std::optional<uint64_t> minCapacity(const Settings& settings) const {
    auto survives = [&](uint64_t steps) { return survivesOn(settings, steps * kStep); };
    uint64_t least_bytes = 0, most_bytes = 0;
    for (replay::Placement placement : placementsOf(settings)) {
      replay::WhatIfOptions unlimited;
      unlimited.settings = settings;
      unlimited.settings.limit_bytes.reset();
      unlimited.placement = placement;
      auto outcome = replay::whatIf(tape_, program_, unlimited);
      if (outcome.stopped_at) return std::nullopt;
      auto peakOf = [&](replay::Quantity quantity) {
        return static_cast<uint64_t>(outcome.stats[quantity].all.peak);
      };
      // What is older than the recording is there.
      least_bytes = std::max(
          {least_bytes, peakOf(replay::Quantity::kActiveBytes), outcome.reserved_at_start_bytes});
      most_bytes = std::max(most_bytes, peakOf(replay::Quantity::kReservedBytes));
    }
    auto inSteps = [](uint64_t bytes) { return replay::roundUp(bytes, kStep) / kStep; };
    uint64_t least = std::max<uint64_t>(inSteps(least_bytes), 1);
    uint64_t top = std::max(inSteps(most_bytes), least);
    while (!survives(top)) {  // a fraction of it may be all there is
      least = top + 1;
      top *= 2;
      if (top > kMostSteps) return std::nullopt;
    }
    constexpr int kMostGaps = 8;
    for (int gap = 0; gap < kMostGaps; ++gap) {
      uint64_t found = top;
      while (least < found) {
        uint64_t middle = least + (found - least) / 2;
        if (survives(middle)) {
          found = middle;
        } else {
          least = middle + 1;
        }
      }
      uint64_t more = 1;
      while (found + more < top && survives(found + more)) more += more / 4 + 1;
      if (found + more >= top) return found * kStep;
      least = found + more + 1;
    }
    return top * kStep;
  }

 private:
  static constexpr uint64_t kStep = replay::kSegmentStepBytes;
  static constexpr uint64_t kMostSteps = (uint64_t{1} << 50) / kStep;

  // Where it is of an effect all; else the one that needs no search. (Expandable segments are few, and each takes more
  // addresses than the device has memory: these are used again.)
  static std::span<const replay::Placement> placementsOf(const Settings& settings) {
    using replay::Placement;
    static constexpr Placement kAll[] = {Placement::kLowest, Placement::kHighest,
                                         Placement::kRising};
    std::span<const Placement> all(kAll);
    if (settings.tie == replay::TieBreak::kAddress) return all;
    return settings.expandable ? all.first(1) : all.last(1);
  }
  bool survivesOn(const Settings& settings, uint64_t bytes) const {
    replay::WhatIfOptions options;
    options.settings = settings;
    if (settings.limit_bytes) options.settings.limit_bytes = bytes;
    options.capacity_bytes = bytes;
    options.until_failure = true;
    return std::ranges::all_of(placementsOf(settings), [&](replay::Placement placement) {
      options.placement = placement;
      replay::Outcome outcome = replay::whatIf(tape_, program_, options);
      return outcome.stats.ooms == 0 && !outcome.stopped_at;
    });
  }
  Replayed take(const std::string& conf, const Settings& settings,
                replay::Placement placement) const {
    replay::WhatIfOptions options;
    options.settings = settings;
    options.capacity_bytes = capacity_bytes_;
    options.device_bytes = device_bytes_;
    options.placement = placement;
    Replayed result;
    LineWriter line(result, columns_, tape_.steps());
    if (columns_ > 0 && tape_.steps() > 0)
      options.at_request = [&](Step step, uint64_t reserved_bytes, uint64_t active_bytes) {
        line.take(step, reserved_bytes, active_bytes);
      };
    replay::Outcome outcome = replay::whatIf(tape_, program_, options);
    line.finish();
    result.conf = conf;
    result.settings = settings;
    result.stats = outcome.stats;
    result.unused_at_peak_bytes = outcome.unused_at_peak_bytes;
    result.reserved_at_start_bytes = outcome.reserved_at_start_bytes;
    result.failures = std::move(outcome.failures);
    result.rescued = outcome.rescued;
    result.first_rescued = outcome.first_rescued;
    result.forecast_from = outcome.forecast_from;
    result.stopped_at = outcome.stopped_at;
    return result;
  }

  const replay::Tape& tape_;
  const replay::Program& program_;
  std::optional<uint64_t> capacity_bytes_, device_bytes_;
  size_t columns_;
};

auto rank(const Replayed& it) {
  return std::tuple(it.stopped_at.has_value(), it.mostOoms(), it.mostReservedBytes(),
                    it.driverCalls(), it.conf.size());
}

// Fewer failures; or, where nothing fails, noticeably less at the peak. (Where something does, less is reserved because it
// does.) Against what was recorded, too: that is what helps nobody to be told otherwise.
bool helps(const Replayed& best, const WhatIf& report) {
  // What was not replayed to its end is no proof; nor is anything where the rules do not explain the recording.
  if (best.stopped_at || report.own.stopped_at || !report.isProven()) return false;
  uint64_t ooms = report.own.leastOoms(), bytes = report.own.leastReservedBytes();
  if (report.capacity_source != CapacitySource::kGiven) {
    ooms = std::min(ooms, report.recorded_ooms);
    bytes = std::min(bytes, report.recorded_peak_bytes);
  }
  if (report.own.reserved_at_start_bytes > report.availableBytes().value_or(UINT64_MAX))
    return false;  // it would not have come so far
  // A few of many that fail change nothing for anybody.
  if (best.mostOoms() != ooms) return best.mostOoms() <= ooms / 2;
  return ooms == 0 && bytes > best.mostReservedBytes() &&
         bytes - best.mostReservedBytes() > bytes / kNoticeable;
}

uint64_t mostReserved(const DeviceAnalysis& device) {
  return std::max(device.totals.peakReserved().bytes, device.totals.initial().reserved_bytes);
}

}  // namespace

bool isReplayable(const DeviceAnalysis& device) {
  return allocatorOf(device.device) == AllocatorKind::kCaching;
}

namespace {

// What the process had was within its fraction.
uint64_t leastDeviceBytes(uint64_t had_bytes, double fraction, uint64_t ceiling_bytes) {
  double least = std::ceil(static_cast<double>(had_bytes) / fraction) + 1;
  constexpr double kMost = 1ULL << 60;
  return std::max(ceiling_bytes, least < kMost ? static_cast<uint64_t>(least) : ceiling_bytes);
}

// What kept the process to what it had, where no failure with nothing left says it.
void findLimit(const AnalysedTrace& analysed, const DeviceAnalysis& device,
               replay::VerifyOptions& options, WhatIf& report) {
  uint64_t most_bytes = mostReserved(device);
  if (auto limit =
          replay::limitOf(analysed.trace, device.device, options, report.verified, most_bytes)) {
    report.limit_bytes = options.settings.limit_bytes = limit->least_bytes;
    report.limit_most_bytes = limit->most_bytes;
    report.verified = replay::verify(analysed.trace, device.device, options);
  } else if (!report.capacity_bytes && report.verified.refused_at_bytes && most_bytes > 0) {
    report.capacity_bytes = most_bytes;
    report.capacity_source = CapacitySource::kRefused;
  }
}

// A fraction of `fraction` of the recorded device may be what kept it: it had so much, and was not refused less; and it
// explains no event less.
bool explainsAsWell(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                    replay::VerifyOptions options, WhatIf& report, double fraction,
                    uint64_t device_bytes, std::optional<uint64_t> refused_at_bytes) {
  double cap_bytes = std::min(fraction, 1.0) * static_cast<double>(device_bytes);
  if (cap_bytes < static_cast<double>(report.recorded_peak_bytes) ||
      cap_bytes >= static_cast<double>(refused_at_bytes.value_or(UINT64_MAX)))
    return false;
  options.settings.fraction = fraction;
  options.settings.limit_bytes.reset();
  options.capacity_bytes = device_bytes;
  auto other = replay::verify(analysed.trace, device.device, options);
  if (other.events_exact < report.verified.events_exact) return false;
  report.verified = std::move(other);
  report.limit_bytes.reset();
  report.limit_most_bytes.reset();
  return true;
}

// Verified, and on which device the rest is to be replayed.
WhatIf begin(const AnalysedTrace& analysed, const DeviceAnalysis& device, const WhatIfWish& wish) {
  WhatIf report;
  report.recorded_peak_bytes = mostReserved(device);
  const model::Events& events = analysed.trace.events;
  for (size_t row = device.device.event_begin; row < device.device.event_end; ++row)
    report.recorded_ooms += events.action[row] == model::Action::kOom;
  replay::VerifyOptions options;
  options.settings = replay::settingsOf(analysed.trace);
  // Of a device whose size no file tells: what it did is found out like what is not told at all.
  std::optional<double> told_fraction = std::exchange(options.settings.fraction, std::nullopt);
  auto ceiling = ceilingOf(analysed, device);
  if (ceiling) {
    report.capacity_bytes = ceiling;
    report.capacity_source = CapacitySource::kOutOfMemory;
  }
  report.verified = replay::verify(analysed.trace, device.device, options);
  std::optional<uint64_t> refused_at_bytes = report.verified.refused_at_bytes;
  findLimit(analysed, device, options, report);
  report.verified.settings.fraction = told_fraction;
  if (told_fraction && *told_fraction > 0 && *told_fraction < 1) {
    if (report.limit_bytes || ceiling)
      report.device_bytes = leastDeviceBytes(report.limit_bytes.value_or(mostReserved(device)),
                                             *told_fraction, ceiling.value_or(0));
    report.limit_bytes.reset();
    report.limit_most_bytes.reset();
    report.verified.settings.limit_bytes.reset();
  }
  if (!wish.capacity_bytes) return report;
  report.capacity_bytes = wish.capacity_bytes;
  report.capacity_source = CapacitySource::kGiven;
  report.device_bytes.reset();
  report.fraction = wish.fraction;
  if (wish.fraction) {
    (void)explainsAsWell(analysed, device, options, report, *wish.fraction, *wish.capacity_bytes,
                         refused_at_bytes);
    report.verified.settings.fraction = wish.fraction;
    report.verified.settings.limit_bytes.reset();
  } else if (report.limit_bytes) {
    report.verified.settings.limit_bytes = report.capacity_bytes;
  }
  return report;
}

// Under another limit that explains the recording as well, does anything help? The least from which on it does.
void findHelpFrom(const Runs& runs, std::vector<std::pair<std::string, Settings>> wanted,
                  WhatIf& report) {
  bool is_open = report.limit_bytes && report.limit_most_bytes > report.limit_bytes &&
                 report.capacity_source != CapacitySource::kGiven && report.isProven();
  if (!is_open || report.best_helps || report.own.leastOoms() == 0 || wanted.size() < 2) return;
  uint64_t enough = report.own.leastOoms() / 2;
  wanted.erase(wanted.begin());
  for (auto& [conf, settings] : wanted) settings.limit_bytes = report.limit_most_bytes;
  std::vector<Replayed> others = runs.all(wanted);
  auto best = std::ranges::min_element(others, {}, rank);
  if (best->stopped_at || best->mostOoms() > enough) return;
  WhatIf::FromLimit from{best->conf, *report.limit_most_bytes, best->mostOoms()};
  uint64_t least = *report.limit_bytes / replay::kSegmentStepBytes,
           most = *report.limit_most_bytes / replay::kSegmentStepBytes;
  while (least < most) {
    uint64_t middle = least + (most - least) / 2;
    Settings settings = best->settings;
    settings.limit_bytes = middle * replay::kSegmentStepBytes;
    Replayed it = runs.one(best->conf, settings);
    if (it.stopped_at || it.mostOoms() > enough) {
      least = middle + 1;
      continue;
    }
    from = {best->conf, middle * replay::kSegmentStepBytes, it.mostOoms()};
    most = middle;
  }
  report.helps_from = from;
}

}  // namespace

base::Result<model::Trace> replayedTrace(const AnalysedTrace& analysed,
                                         const DeviceAnalysis& device, const std::string& conf,
                                         std::optional<uint64_t> capacity_bytes) {
  WhatIfWish wish;
  wish.capacity_bytes = capacity_bytes;
  WhatIf report = begin(analysed, device, wish);
  replay::WhatIfOptions options;
  TG_ASSIGN_OR_RETURN(options.settings, wished(report.verified.settings, conf, wish.fraction));
  options.capacity_bytes = report.capacity_bytes;
  options.device_bytes = report.device_bytes;
  replay::Tape tape(analysed.trace, device.device);
  return replay::writtenTrace(tape, report.verified.program, options, conf).trace;
}

base::Result<WhatIf> whatIf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                            const WhatIfWish& wish) {
  WhatIf report = begin(analysed, device, wish);
  replay::Program program = std::move(report.verified.program);
  if (wish.verify_only) return report;
  const Settings& own = report.verified.settings;
  replay::Tape tape(analysed.trace, device.device);
  Runs runs(tape, program, report, wish.columns);
  std::vector<std::pair<std::string, Settings>> wanted;
  wanted.emplace_back(replay::confOf(own, wish.fraction), own);
  for (const ProgramEdit& edit : wish.edits) {
    TG_ASSIGN_OR_RETURN(EditedProgram changed, edited(analysed, device, program, edit));
    Runs other(tape, changed.program, report, wish.columns);
    ReplayedEdit& it = report.edits.emplace_back();
    it = {edit, changed.requests, changed.bytes, other.one(wanted.front().first, own)};
    if (wish.min_capacity && report.isProven())
      it.replayed.min_capacity_bytes = other.minCapacity(own);
  }
  for (const std::string& conf : wish.confs) {
    TG_ASSIGN_OR_RETURN(Settings settings, wished(own, conf, wish.fraction));
    auto is_same = [&](const auto& it) { return it.first == conf; };
    if (std::none_of(wanted.begin() + 1, wanted.end(), is_same))
      wanted.emplace_back(conf, settings);
  }
  report.are_known = wish.confs.empty() && wish.edits.empty();
  report.are_mixed = !report.are_known && wish.with_known;
  if (report.are_known || wish.with_known)
    for (const Settings& settings : knownSettings(own, report.capacity_bytes.has_value())) {
      auto is_wished = [&](const auto& it) { return it.second == settings; };
      if (std::ranges::none_of(wanted, is_wished))
        wanted.emplace_back(replay::confOf(settings, wish.fraction), settings);
    }
  if (program.requests.empty()) wanted.resize(1);  // nothing that settings could change
  report.candidates = runs.all(wanted);
  for (Replayed& it : report.candidates)
    it.is_wished = std::ranges::find(wish.confs, it.conf) != wish.confs.end();
  report.own = std::move(report.candidates.front());
  report.candidates.erase(report.candidates.begin());
  std::ranges::stable_sort(report.candidates, {}, rank);
  if (!report.candidates.empty()) {
    report.best_helps = helps(report.candidates.front(), report);
  }
  findHelpFrom(runs, std::move(wanted), report);
  if (wish.driver_call_us) {
    auto price = [&](Replayed& it) {
      it.driver_s = static_cast<double>(it.driverCalls()) * *wish.driver_call_us * 1e-6;
    };
    price(report.own);
    for (Replayed& candidate : report.candidates) price(candidate);
    for (ReplayedEdit& edit : report.edits) price(edit.replayed);
  }
  if (wish.min_capacity && report.isProven()) {
    std::vector<Replayed*> asked{&report.own};
    for (Replayed& it : report.candidates)
      if (it.is_wished || (report.best_helps && &it == &report.candidates.front()))
        asked.push_back(&it);
    eachAtOnce(asked.size(), [&](size_t i) {
      asked[i]->min_capacity_bytes = runs.minCapacity(asked[i]->settings);
    });
  }
  return report;
}

}  // namespace tidegauge::analysis
