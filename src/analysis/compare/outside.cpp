#include "analysis/compare/outside.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/compare/outside_sums.h"
#include "base/format.h"
#include "model/incomplete.h"
#include "model/ledger/ledger_sums.h"
#include "model/recorded_work.h"

namespace tidegauge::analysis {
namespace {

using model::DriverMemory;

constexpr size_t kMaxNamed = 6;       // processes named in an error
constexpr int64_t kSureNs = 100'000;  // of two processes, one is clearly farther away

const DriverMemory& driverOf(const AnalysedTrace& process) { return process.trace.work->driver; }

base::Error usage(std::string what, std::string hint) {
  return {base::ErrorKind::kUsage, std::move(what), std::nullopt, std::move(hint)};
}

std::string nameOf(const AnalysedTrace& process) {
  const std::string& name = process.trace.source.name;  // "run.sqlite/pid 41 python"
  return name.substr(name.find_last_of('/') + 1);
}

int64_t pidOf(const AnalysedTrace& process) {
  const model::RecordedWork& work = *process.trace.work;
  const model::RecordedProcesses& rows = work.run->processes;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows.process_id[i] == work.process_id) return rows.pid[i];
  }
  return 0;
}

struct MatchedProcess {
  const AnalysedTrace* process;
  SegmentMatch match;
};

bool hasDeviceMemory(const DriverMemory& driver) {
  const std::vector<model::MemoryKind>& kinds = driver.blocks.kind;
  return !std::all_of(kinds.begin(), kinds.end(), model::isHostMemory);
}

std::string noneFits(const std::vector<MatchedProcess>& candidates) {
  std::string words = "no process of the recording holds the segments of this snapshot";
  if (candidates.empty()) return words + ": none took device memory";
  const MatchedProcess& best = *std::max_element(
      candidates.begin(), candidates.end(), [](const MatchedProcess& a, const MatchedProcess& b) {
        return std::pair(a.match.matched, a.match.elsewhen) <
               std::pair(b.match.matched, b.match.elsewhen);
      });
  const SegmentMatch& match = best.match;
  words += fmt::format(": {} of {} have the place, size and time of memory of {}",
                       base::withCommas(match.matched),
                       base::counted(match.pieces + match.older, "piece"), nameOf(best.process[0]));
  if (match.elsewhen > 0) {
    words += fmt::format(", {} the place and size, but at another time",
                         base::withCommas(match.elsewhen));
  }
  if (match.older > 0) {
    words += fmt::format(", {} are older than the recording", base::withCommas(match.older));
  }
  return words;
}

// Only losses of memory records matter here: a lost launch changes no figure.
void markBounds(Outside& outside) {
  const model::RecordedWork& work = *outside.recording->trace.work;
  outside.missing = model::gapsOf(work).words({model::Figures::kMemory});
  outside.has_older = std::any_of(work.at_least.begin(), work.at_least.end(),
                                  [](int32_t device) { return device >= 0; });
  for (const model::Unwatched& unwatched : model::unwatchedOf(work)) {
    bool of_memory = unwatched.figures.has(model::Figures::kMemory);
    if (of_memory && model::isOlder(unwatched)) outside.is_from_start = false;
  }
}

}  // namespace

base::Result<Outside> outsideOf(const AnalysedTrace& snapshot,
                                const std::vector<const AnalysedTrace*>& processes,
                                std::optional<int64_t> pid, std::optional<int64_t> written_ns) {
  bool has_segments = false;
  for (const auto& device : snapshot.devices) {
    bool is_gpu = device->device.ordinal >= 0;
    has_segments |= is_gpu && device->device.piece_end > device->device.piece_begin;
  }
  if (!has_segments) {
    return usage("the snapshot has no segments of a GPU by which a process could be found", "");
  }
  std::vector<MatchedProcess> candidates;
  bool has_pid = false;
  for (const AnalysedTrace* process : processes) {
    if (pid && pidOf(*process) != *pid) continue;
    has_pid = true;
    if (!hasDeviceMemory(driverOf(*process))) continue;
    candidates.push_back({process, matchSegments(snapshot, driverOf(*process))});
  }
  if (pid && !has_pid) {
    return usage(fmt::format("no process {} took memory in the recording", *pid),
                 "Omit --pid; Tidegauge finds the process by its segments.");
  }
  uint64_t most = 0;
  for (const MatchedProcess& candidate : candidates) {
    if (candidate.match.fits()) most = std::max(most, candidate.match.matched);
  }
  if (most == 0) {
    return usage(noneFits(candidates),
                 "Use the recording that ran at the same time as the snapshot's process.");
  }
  std::erase_if(candidates, [&](const MatchedProcess& candidate) {
    return !candidate.match.fits() || candidate.match.matched < most;
  });
  // Ranks that started together hold the same addresses at nearly the same times. Near is not
  // enough.
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const MatchedProcess& a, const MatchedProcess& b) {
                     return a.match.typical_difference_ns < b.match.typical_difference_ns;
                   });
  int64_t nearest_ns = candidates.front().match.typical_difference_ns;
  while (candidates.back().match.typical_difference_ns > 4 * nearest_ns + kSureNs) {
    candidates.pop_back();
  }
  if (candidates.size() > 1) {
    std::string names;
    for (size_t i = 0; i < candidates.size() && i < kMaxNamed; ++i) {
      names += (i > 0 ? ", " : "") + nameOf(*candidates[i].process);
    }
    if (candidates.size() > kMaxNamed) names += ", …";
    return usage(fmt::format("{} processes of the recording fit equally ({} each): {}",
                             candidates.size(), base::counted(most, "piece"), names),
                 "Choose one with --pid.");
  }
  Outside outside;
  outside.recording = candidates.front().process;
  outside.match = std::move(candidates.front().match);
  const DriverMemory& driver = driverOf(*outside.recording);
  outside.is_from_start = driver.is_from_start;
  outside.frees_of_older = driver.frees_of_older;
  outside.bytes_without_address = driver.bytes_without_address;
  markBounds(outside);
  addSums(snapshot, written_ns, outside);
  return outside;
}

}  // namespace tidegauge::analysis
