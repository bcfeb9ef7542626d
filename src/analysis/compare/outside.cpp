#include "analysis/compare/outside.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/oom/oom.h"
#include "base/format.h"
#include "model/incomplete.h"
#include "model/recorded_work.h"

namespace tidegauge::analysis {
namespace {

using model::DriverMemory;
using model::MemoryKind;

constexpr size_t kMaxNamed = 6;       // processes named in an error
constexpr int64_t kSureNs = 100'000;  // of two processes, one is clearly farther away

const DriverMemory& driverOf(const AnalysedTrace& process) { return process.trace.work->driver; }

base::Error usage(std::string what, std::string hint) {
  return {base::ErrorKind::kUsage, std::move(what), std::nullopt, std::move(hint)};
}

class Sums {
 public:
  Sums(const AnalysedTrace& snapshot, const AnalysedTrace& process, Outside& outside)
      : snapshot_(snapshot), driver_(driverOf(process)), outside_(outside) {
    was_mapped_.assign(driver_.blocks.size(), false);
    for (size_t row = 0; row < driver_.mappings.size(); ++row) {
      if (outside.match.mappings[row]) was_mapped_[driver_.mappings.block[row]] = true;
    }
    int gpus = 0;
    for (const auto& device : snapshot.devices) {
      if (device->device.ordinal < 0) continue;
      ++gpus;
      only_ = device->device.ordinal;
    }
    if (gpus != 1) only_ = model::kUnknownDevice;
    for (int32_t device : driver_.blocks.device) {
      if (device >= 0 && device != only_) only_ = model::kUnknownDevice;
    }
  }

  void run() {
    int64_t end_ns = outside_.match.end_ns;
    if (!outside_.match.by_content) {
      for (const auto& device : snapshot_.devices) {
        if (!device->time.present()) continue;
        end_ns = std::max(end_ns, momentOf(device->time.lastUs()));
      }
    }
    for (const auto& device : snapshot_.devices) {
      if (device->device.ordinal >= 0) addDevice(*device, end_ns);
    }
    for (size_t row = 0; row < driver_.blocks.size(); ++row) {
      bool known = deviceOf(row) >= 0;
      if (!known && isLive(row, end_ns)) {
        outside_.unknown_device_bytes += driver_.blocks.size_bytes[row];
      }
    }
  }

 private:
  // Times in snapshots are whole µs: everything that ended within that µs counts.
  static int64_t momentOf(int64_t time_us) { return time_us * 1000 + 999; }

  int32_t deviceOf(size_t row) const {
    int32_t device = driver_.blocks.device[row];
    return device >= 0 ? device : only_;
  }
  bool isLive(size_t row, int64_t time_ns) const {
    return driver_.blocks.begin_ns[row] <= time_ns && driver_.blocks.end_ns[row] > time_ns;
  }

  void addDevice(const DeviceAnalysis& device, int64_t end_ns) {
    OutsideOfDevice of_device;
    of_device.ordinal = device.device.ordinal;
    auto add = [&](OutsideAt at, std::optional<Step> step, int64_t time_ns, uint64_t reserved) {
      OutsideMoment moment;
      moment.at = at;
      moment.step = step;
      moment.time_ns = time_ns;
      moment.reserved_bytes = reserved;
      of_device.moments.push_back(moment);
    };
    if (device.time.present() && !outside_.match.by_content) {
      Peak peak = device.totals.peakReserved();
      std::optional<Step> step;
      if (!peak.at_start) step = peak.step;
      // The state before the first event holds until just before it.
      int64_t time_ns = peak.at_start ? momentOf(device.time.firstUs() - 1)
                                      : momentOf(device.time.timeOf(peak.step));
      add(OutsideAt::kPeak, step, time_ns, peak.bytes);
      std::vector<OomReport> ooms = oomsOf(snapshot_, device, 0);
      if (!ooms.empty()) {  // the event that the report describes
        const OomReport& worst = ooms[worstOf(ooms)];
        add(OutsideAt::kOom, worst.step, momentOf(device.time.timeOf(worst.step)),
            worst.totals.reserved_bytes);
      }
    }
    std::optional<Step> last;
    if (device.totals.steps() > 0) last = device.totals.steps() - 1;
    add(OutsideAt::kEnd, last, end_ns, device.totals.last().reserved_bytes);
    rows_.clear();
    for (size_t i = 0; i < of_device.moments.size(); ++i) sumUp(of_device, i);
    for (auto& [key, row] : rows_) of_device.rows.push_back(std::move(row));
    auto most = [](const OutsideRow& row) {
      return *std::max_element(row.bytes.begin(), row.bytes.end());
    };
    std::stable_sort(of_device.rows.begin(), of_device.rows.end(),
                     [&](const OutsideRow& a, const OutsideRow& b) { return most(a) > most(b); });
    outside_.devices.push_back(std::move(of_device));
  }

  void sumUp(OutsideOfDevice& of_device, size_t index) {
    OutsideMoment& moment = of_device.moments[index];
    const model::DriverBlocks& blocks = driver_.blocks;
    const model::DriverMappings& mappings = driver_.mappings;
    std::vector<uint64_t> in_segments(blocks.size(), 0);
    for (size_t row = 0; row < mappings.size(); ++row) {
      bool live = mappings.begin_ns[row] <= moment.time_ns && mappings.end_ns[row] > moment.time_ns;
      if (live && outside_.match.mappings[row]) {
        in_segments[mappings.block[row]] += mappings.size_bytes[row];
      }
    }
    for (size_t row = 0; row < blocks.size(); ++row) {
      if (deviceOf(row) != of_device.ordinal || !isLive(row, moment.time_ns)) continue;
      uint64_t bytes = blocks.size_bytes[row];
      moment.driver_bytes += bytes;
      if (outside_.match.blocks[row]) continue;
      bytes -= std::min(bytes, in_segments[row]);  // mapped twice, it is still held once
      if (bytes == 0) continue;
      moment.outside_bytes += bytes;
      ++moment.blocks;
      OutsideRow& sum = rows_[{blocks.stack[row].value, blocks.kind[row], was_mapped_[row]}];
      if (sum.bytes.empty()) {
        sum.stack = blocks.stack[row];
        sum.kind = blocks.kind[row];
        sum.was_in_segment = was_mapped_[row];
        sum.bytes.assign(of_device.moments.size(), 0);
        sum.blocks.assign(of_device.moments.size(), 0);
      }
      sum.bytes[index] += bytes;
      ++sum.blocks[index];
    }
    moment.difference_bytes =
        static_cast<int64_t>(moment.driver_bytes - moment.reserved_bytes - moment.outside_bytes);
  }

  const AnalysedTrace& snapshot_;
  const DriverMemory& driver_;
  Outside& outside_;
  std::vector<bool> was_mapped_;          // by row of blocks: ever in a segment
  int32_t only_ = model::kUnknownDevice;  // the device for memory whose device is not known
  std::map<std::tuple<uint32_t, MemoryKind, bool>, OutsideRow> rows_;
};

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
                                std::optional<int64_t> pid) {
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
    if (driverOf(*process).blocks.size() == 0) continue;
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
  Sums(snapshot, *outside.recording, outside).run();
  return outside;
}

}  // namespace tidegauge::analysis
