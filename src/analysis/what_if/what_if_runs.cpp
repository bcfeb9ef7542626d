#include "analysis/what_if/what_if_runs.h"

#include <mutex>

#include "base/threads/parallel.h"
#include "replay/allocator/model_driver.h"

namespace tidegauge::analysis {
namespace {

using replay::Settings;

constexpr uint64_t kStep = replay::kSegmentStepBytes;
constexpr uint64_t kMaxSteps = (uint64_t{1} << 50) / kStep;

// The maximum of each column; a column without a request repeats the one before it.
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

// All placements if they matter; else the one that needs no search. (Expandable segments are few,
// and each takes more addresses than the device has memory: these are reused.)
std::span<const replay::Placement> placementsOf(const Settings& settings) {
  using replay::Placement;
  static constexpr Placement kAll[] = {Placement::kLowest, Placement::kHighest, Placement::kRising};
  std::span<const Placement> all(kAll);
  if (settings.tie == replay::TieBreak::kAddress) return all;
  return settings.expandable ? all.first(1) : all.last(1);
}

}  // namespace

base::Result<Settings> settingsFor(const Settings& own, const std::string& conf,
                                   std::optional<double> fraction) {
  TG_ASSIGN_OR_RETURN(Settings settings, replay::parseConf(conf, own.not_simulated));
  settings.tie = own.tie;
  settings.gc_needs_fraction_below_1 = own.gc_needs_fraction_below_1;
  settings.private_pools_expandable = own.private_pools_expandable;
  settings.own_allocator_pools = own.own_allocator_pools;
  if (!settings.fraction) settings.fraction = fraction;
  settings.limit_bytes = own.limit_bytes;
  return settings;
}

Replayed Runs::one(const std::string& conf, const Settings& settings) const {
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

std::vector<Replayed> Runs::all(const std::vector<std::pair<std::string, Settings>>& wanted) const {
  std::vector<Replayed> results(wanted.size());
  std::mutex mutex;
  size_t done = 0;
  base::eachAtOnce(wanted.size(), effort_.threads, [&](size_t i) {
    if (effort_.stop.stop_requested()) return;
    results[i] = one(wanted[i].first, wanted[i].second);
    if (!effort_.progress) return;
    std::lock_guard lock(mutex);
    effort_.progress(++done, wanted.size());
  });
  return results;
}

uint64_t leastFrom(uint64_t least, uint64_t top, const std::function<bool(uint64_t)>& holds) {
  constexpr int kMaxGaps = 8;
  for (int gap = 0; gap < kMaxGaps; ++gap) {
    uint64_t found = top;
    while (least < found) {
      uint64_t middle = least + (found - least) / 2;
      if (holds(middle)) {
        found = middle;
      } else {
        least = middle + 1;
      }
    }
    uint64_t more = 1;
    while (found + more < top && holds(found + more)) more += more / 4 + 1;
    if (found + more >= top) return found;
    least = found + more + 1;
  }
  return top;
}

std::optional<uint64_t> Runs::minCapacity(const Settings& settings) const {
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
    // Memory older than the recording exists already.
    least_bytes = std::max(
        {least_bytes, peakOf(replay::Quantity::kActiveBytes), outcome.reserved_at_start_bytes});
    most_bytes = std::max(most_bytes, peakOf(replay::Quantity::kReservedBytes));
  }
  // What is not on the device needs none of its memory.
  least_bytes -= std::min(least_bytes, unmapped_bytes_);
  most_bytes -= std::min(most_bytes, unmapped_bytes_);
  auto inSteps = [](uint64_t bytes) { return replay::roundUp(bytes, kStep) / kStep; };
  uint64_t least = std::max<uint64_t>(inSteps(least_bytes), 1);
  uint64_t top = std::max(inSteps(most_bytes), least);
  while (!survives(top)) {  // its fraction may be the limit
    least = top + 1;
    top *= 2;
    if (top > kMaxSteps) return std::nullopt;
  }
  return leastFrom(least, top, survives) * kStep;
}

bool Runs::survivesOn(const Settings& settings, uint64_t bytes) const {
  replay::WhatIfOptions options;
  options.settings = settings;
  if (settings.limit_bytes) options.settings.limit_bytes = bytes;
  options.capacity_bytes = bytes + unmapped_bytes_;
  options.until_failure = true;
  return std::ranges::all_of(placementsOf(settings), [&](replay::Placement placement) {
    options.placement = placement;
    replay::Outcome outcome = replay::whatIf(tape_, program_, options);
    return outcome.stats.ooms == 0 && !outcome.stopped_at;
  });
}

std::optional<replay::Failure> Runs::firstFailure(const Settings& settings, Where where) const {
  std::optional<replay::Failure> first;
  replay::WhatIfOptions options;
  options.settings = settings;
  options.capacity_bytes = capacity_bytes_;
  options.device_bytes = device_bytes_;
  options.until_failure = true;
  std::span<const replay::Placement> placements = placementsOf(settings);
  if (where == Where::kFirstPlacement) placements = placements.first(1);
  for (replay::Placement placement : placements) {
    options.placement = placement;
    replay::Outcome outcome = replay::whatIf(tape_, program_, options);
    if (outcome.stopped_at) outcome.failures.push_back({*outcome.stopped_at, 0, false});
    if (!outcome.failures.empty() && (!first || outcome.failures.front().step < first->step))
      first = outcome.failures.front();
  }
  return first;
}

Replayed Runs::take(const std::string& conf, const Settings& settings,
                    replay::Placement placement) const {
  replay::WhatIfOptions options;
  options.settings = settings;
  options.capacity_bytes = capacity_bytes_;
  options.device_bytes = device_bytes_;
  options.placement = placement;
  options.stop = effort_.stop;
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

}  // namespace tidegauge::analysis
