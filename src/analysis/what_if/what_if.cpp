#include "analysis/what_if/what_if.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/layout/allocator_rules.h"
#include "analysis/what_if/causes.h"
#include "analysis/what_if/proven_program.h"
#include "analysis/what_if/what_if_runs.h"
#include "base/threads/parallel.h"
#include "replay/written_trace.h"

namespace tidegauge::analysis {
namespace {

using replay::Settings;

bool hasCap(const Settings& it) { return it.capBytes(uint64_t{1} << 40) != replay::kUnlimited; }

// Settings known to help, as changes of the recording's own. Those that need a limit only if the
// capacity is known.
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
    it.max_split_bytes = replay::kUnlimited;  // incompatible with expandable segments
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
  add([](Settings& it) {  // PyTorch's defaults, for the same version, in the same program
    Settings plain;
    plain.tie = it.tie;
    plain.gc_needs_fraction_below_1 = it.gc_needs_fraction_below_1;
    plain.private_pools_expandable = it.private_pools_expandable;
    plain.own_allocator_pools = it.own_allocator_pools;
    plain.fraction = it.fraction;
    plain.limit_bytes = it.limit_bytes;
    plain.without_effect = it.without_effect;
    plain.not_simulated = it.not_simulated;
    it = plain;
  });
  return found;
}

}  // namespace

// With failures, less is reserved because of them. Also compared with what was recorded: an effect
// of the replay alone helps nobody.
bool helps(const Replayed& tried, const Replayed& own, const WhatIf& report) {
  // An incomplete replay proves nothing; nor does any replay if the rules do not explain the
  // recording.
  if (tried.stopped_at || own.stopped_at || !report.isProven()) return false;
  uint64_t ooms = own.leastOoms(), bytes = own.leastReservedBytes();
  if (report.capacity_source != CapacitySource::kGiven) {
    ooms = std::min(ooms, report.recorded_ooms);
    bytes = std::min(bytes, report.recorded_peak_bytes);
  }
  if (own.reserved_at_start_bytes > report.availableBytes().value_or(UINT64_MAX))
    return false;  // the recording would not have come this far
  // A few failures fewer among many help nobody, and neither does an earlier one.
  auto first = own.firstFailingStep(), now = tried.firstFailingStep();
  if (first && now && *now < *first) return false;
  if (tried.mostOoms() != ooms) return tried.mostOoms() <= ooms / 2;
  return ooms == 0 && isNoticeablyLess(tried.mostReservedBytes(), bytes);
}

bool helpsTooLittle(const Replayed& tried, const WhatIf& report) {
  bool is_proven = !tried.stopped_at && !report.own.stopped_at && report.isProven();
  return is_proven && tried.mostOoms() < report.own.leastOoms() && !helps(tried, report);
}

std::vector<const Replayed*> tooLittle(const WhatIf& report) {
  std::vector<const Replayed*> found;
  for (const Replayed& tried : report.candidates)
    if (helpsTooLittle(tried, report)) found.push_back(&tried);
  return found;
}

bool isReplayable(const DeviceAnalysis& device) {
  return allocatorOf(device.device) == AllocatorKind::kCaching;
}

namespace {

base::Error stopped() { return {base::ErrorKind::kLimit, "The replays were stopped", {}, {}}; }

// Does anything help under another limit that explains the recording as well? The least such limit
// among those tried.
void findHelpFrom(const Runs& runs, std::vector<std::pair<std::string, Settings>> wanted,
                  WhatIf& report) {
  bool is_open = report.limit_bytes && report.limit_most_bytes > report.limit_bytes &&
                 report.capacity_source != CapacitySource::kGiven && report.isProven();
  if (!is_open || report.best_helps || report.own.leastOoms() == 0 || wanted.size() < 2) return;
  uint64_t enough = report.own.leastOoms() / 2;
  wanted.erase(wanted.begin());
  for (auto& [conf, settings] : wanted) settings.limit_bytes = report.limit_most_bytes;
  std::vector<Replayed> others = runs.all(wanted);
  if (runs.isStopped()) return;
  auto best = std::ranges::min_element(others, {}, rank);
  if (best->stopped_at || best->mostOoms() > enough) return;
  std::map<uint64_t, uint64_t> ooms{
      {*report.limit_most_bytes / replay::kSegmentStepBytes, best->mostOoms()}};
  auto holds = [&](uint64_t steps) {
    Settings settings = best->settings;
    settings.limit_bytes = steps * replay::kSegmentStepBytes;
    Replayed it = runs.one(best->conf, settings);
    ooms[steps] = it.mostOoms();
    return !it.stopped_at && it.mostOoms() <= enough;
  };
  uint64_t top = *report.limit_most_bytes / replay::kSegmentStepBytes;
  uint64_t from = leastFrom(*report.limit_bytes / replay::kSegmentStepBytes, top, holds);
  uint64_t from_bytes = from == top ? *report.limit_most_bytes : from * replay::kSegmentStepBytes;
  report.helps_from = {best->conf, from_bytes, ooms[from]};
}

}  // namespace

base::Result<model::Trace> replayedTrace(const AnalysedTrace& analysed,
                                         const DeviceAnalysis& device, const std::string& conf,
                                         std::optional<uint64_t> capacity_bytes) {
  WhatIfWish wish;
  wish.capacity_bytes = capacity_bytes;
  ProvenProgram proven(analysed, device, wish);
  const WhatIf& report = proven.report();
  replay::WhatIfOptions options;
  TG_ASSIGN_OR_RETURN(options.settings, settingsFor(proven.settings(), conf, report.fraction));
  options.capacity_bytes = report.countedBytes();
  options.device_bytes = report.device_bytes;
  return replay::writtenTrace(proven.tape(), proven.program(), options, conf).trace;
}

base::Result<WhatIf> whatIf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                            const WhatIfWish& wish) {
  ProvenProgram proven(analysed, device, wish);
  if (wish.effort.stop.stop_requested()) return stopped();
  return whatIf(proven, wish);
}

base::Result<WhatIf> whatIf(const ProvenProgram& proven, const WhatIfWish& wish) {
  WhatIf report = proven.report();
  if (wish.verify_only) return report;
  const replay::Program& program = proven.program();
  const Settings& own = report.verified.settings;
  const replay::Tape& tape = proven.tape();
  Runs runs(tape, program, report, wish.columns, wish.effort);
  std::vector<std::pair<std::string, Settings>> wanted;
  wanted.emplace_back(replay::confOf(own, report.fraction), own);
  for (const ProgramEdit& edit : wish.edits) {
    TG_ASSIGN_OR_RETURN(EditedProgram changed,
                        edited(proven.analysed(), proven.device(), program, edit));
    Runs other(tape, changed.program, report, wish.columns, wish.effort);
    ReplayedEdit& it = report.edits.emplace_back();
    it = {edit, changed.requests, changed.bytes, other.one(wanted.front().first, own)};
    if (wish.min_capacity && report.isProven())
      it.replayed.min_capacity_bytes = other.minCapacity(own);
  }
  for (const std::string& conf : wish.confs) {
    TG_ASSIGN_OR_RETURN(Settings settings, settingsFor(own, conf, report.fraction));
    auto is_same = [&](const auto& it) { return it.first == conf; };
    if (std::none_of(wanted.begin() + 1, wanted.end(), is_same))
      wanted.emplace_back(conf, settings);
  }
  report.are_known = wish.confs.empty() && wish.edits.empty();
  report.are_mixed = !report.are_known && wish.with_known;
  if (report.are_known || wish.with_known)
    for (const Settings& settings : knownSettings(own, report.capacity_bytes.has_value())) {
      if (settings.expandable && lacksExpandable(proven.analysed().trace.settings)) continue;
      auto is_wished = [&](const auto& it) { return it.second == settings; };
      if (std::ranges::none_of(wanted, is_wished))
        wanted.emplace_back(replay::confOf(settings, report.fraction), settings);
    }
  if (program.requests.empty()) wanted.resize(1);  // no settings could change anything
  report.candidates = runs.all(wanted);
  if (runs.isStopped()) return stopped();
  for (Replayed& it : report.candidates)
    it.is_wished = std::ranges::find(wish.confs, it.conf) != wish.confs.end();
  report.own = std::move(report.candidates.front());
  report.candidates.erase(report.candidates.begin());
  std::ranges::stable_sort(report.candidates, {}, rank);
  if (!report.candidates.empty()) {
    report.best_helps = helps(report.candidates.front(), report);
  }
  findHelpFrom(runs, std::move(wanted), report);
  if (runs.isStopped()) return stopped();
  if (wish.with_fit && report.own.mostOoms() > 0) {
    proven.keepOwn(report.own);
    report.fit = fitFactorOf(proven);
  }
  // On another device, what failed when recorded need not fail.
  bool may_fail = report.own.mostOoms() > 0 || report.capacity_source != CapacitySource::kGiven;
  if (wish.with_causes && may_fail) {
    proven.keepOwn(report.own);
    report.causes = causesOf(proven, wish.recorded_capacity_bytes);
  }
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
    base::eachAtOnce(asked.size(), wish.effort.threads, [&](size_t i) {
      asked[i]->min_capacity_bytes = runs.minCapacity(asked[i]->settings);
    });
  }
  // What was left out by then would look like a result.
  if (runs.isStopped()) return stopped();
  return report;
}

}  // namespace tidegauge::analysis
