#include "analysis/compare/outside_sums.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/oom/oom.h"
#include "model/ledger/ledger_sums.h"
#include "model/recorded_work.h"

namespace tidegauge::analysis {
namespace {

using model::DriverBlocks;
using model::DriverMappings;
using model::DriverMemory;
using model::kHostOrdinal;
using model::MemoryKind;

constexpr int64_t kAskedBeforeNs = 1'000'000'000;  // the driver's answer that a refusal relies on
constexpr int64_t kClocksAgreeNs = 1'000'000;

class Sums {
 public:
  Sums(const AnalysedTrace& snapshot, Outside& outside)
      : snapshot_(snapshot),
        work_(*outside.recording->trace.work),
        driver_(work_.driver),
        outside_(outside) {
    was_mapped_.assign(driver_.blocks.size(), false);
    for (size_t row = 0; row < driver_.mappings.size(); ++row) {
      if (outside.match.mappings[row]) was_mapped_[driver_.mappings.block[row]] = true;
    }
    int gpus = 0;
    for (const auto& device : snapshot.devices) {
      outside_.knows_pinned |= device->device.ordinal == kHostOrdinal;
      if (device->device.ordinal < 0) continue;
      ++gpus;
      only_ = device->device.ordinal;
    }
    if (gpus != 1) only_ = model::kUnknownDevice;
    for (size_t row = 0; row < driver_.blocks.size(); ++row) {
      int32_t device = driver_.blocks.device[row];
      if (!isHost(row) && device >= 0 && device != only_) only_ = model::kUnknownDevice;
    }
  }

  void run(std::optional<int64_t> written_ns) {
    findEnd(written_ns);
    for (const auto& device : snapshot_.devices) {
      if (device->device.ordinal >= 0) addDevice(*device);
    }
    addHost();
    for (size_t row = 0; row < driver_.blocks.size(); ++row) {
      bool known = isHost(row) || deviceOf(row) >= 0;
      if (!known && isLive(row, end_ns_))
        outside_.unknown_device_bytes += driver_.blocks.size_bytes[row];
    }
  }

 private:
  // Times in snapshots are whole µs: everything that ended within that µs counts.
  static int64_t momentOf(int64_t time_us) { return time_us * 1000 + 999; }

  bool isHost(size_t row) const { return model::isHostMemory(driver_.blocks.kind[row]); }
  int32_t deviceOf(size_t row) const {
    int32_t device = driver_.blocks.device[row];
    return device >= 0 ? device : only_;
  }
  bool belongsTo(size_t row, int32_t ordinal) const {
    return isHost(row) ? ordinal == kHostOrdinal
                       : ordinal != kHostOrdinal && deviceOf(row) == ordinal;
  }
  bool isLive(size_t row, int64_t time_ns) const {
    return driver_.blocks.begin_ns[row] <= time_ns && driver_.blocks.end_ns[row] > time_ns;
  }

  // The snapshot was taken after its last event and while the driver held its final segments; and
  // before its file was written.
  void findEnd(std::optional<int64_t> written_ns) {
    const SegmentMatch& match = outside_.match;
    if (match.by_content) {
      earliest_ns_ = match.begin_ns;
      latest_ns_ = end_ns_ = match.end_ns;
    } else {
      for (const auto& device : snapshot_.devices) {
        if (device->time.present())
          earliest_ns_ = std::max(earliest_ns_, momentOf(device->time.lastUs()));
      }
      end_ns_ = earliest_ns_;
      latest_ns_ = std::max(driver_.last_call_ns, earliest_ns_);
      if (match.until_ns > earliest_ns_) latest_ns_ = std::min(latest_ns_, match.until_ns - 1);
    }
    if (!written_ns || *written_ns < earliest_ns_) return;
    latest_ns_ = std::min(latest_ns_, *written_ns);
    end_ns_ = latest_ns_;
  }

  void addDevice(const DeviceAnalysis& device) {
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
        findRefusal(of_device.ordinal, of_device.moments.back());
      }
    }
    std::optional<Step> last;
    if (device.totals.steps() > 0) last = device.totals.steps() - 1;
    add(OutsideAt::kEnd, last, end_ns_, device.totals.last().reserved_bytes);
    finish(std::move(of_device));
  }

  // With one GPU, at its moments; with several, their moments differ, so at the end alone.
  void addHost() {
    bool has_pinned = false;
    for (size_t row = 0; row < driver_.blocks.size(); ++row) has_pinned |= isHost(row);
    if (!has_pinned) return;
    OutsideOfDevice host;
    host.ordinal = kHostOrdinal;
    const std::vector<OutsideMoment>& moments = outside_.devices.front().moments;
    size_t first = outside_.devices.size() == 1 ? 0 : moments.size() - 1;
    for (size_t i = first; i < moments.size(); ++i) {
      OutsideMoment moment;
      moment.at = moments[i].at;
      moment.step = moments[i].step;
      moment.time_ns = moments[i].time_ns;
      for (size_t row = 0; row < driver_.blocks.size(); ++row) {
        if (isHost(row) && outside_.match.blocks[row] && isLive(row, moment.time_ns))
          moment.reserved_bytes += driver_.blocks.size_bytes[row];
      }
      host.moments.push_back(moment);
    }
    finish(std::move(host));
  }

  void finish(OutsideOfDevice of_device) {
    rows_.clear();
    for (size_t i = 0; i < of_device.moments.size(); ++i) sumUp(of_device, i);
    findRange(of_device);
    for (auto& [key, row] : rows_) of_device.rows.push_back(std::move(row));
    auto most = [](const OutsideRow& row) {
      return *std::max_element(row.bytes.begin(), row.bytes.end());
    };
    std::stable_sort(of_device.rows.begin(), of_device.rows.end(),
                     [&](const OutsideRow& a, const OutsideRow& b) { return most(a) > most(b); });
    outside_.devices.push_back(std::move(of_device));
  }

  // Bytes of each block that are mapped into PyTorch's segments.
  std::vector<uint64_t> bytesInSegments(int64_t time_ns) const {
    const DriverMappings& mappings = driver_.mappings;
    std::vector<uint64_t> bytes(driver_.blocks.size(), 0);
    for (size_t row = 0; row < mappings.size(); ++row) {
      bool live = mappings.begin_ns[row] <= time_ns && mappings.end_ns[row] > time_ns;
      if (live && outside_.match.mappings[row])
        bytes[mappings.block[row]] += mappings.size_bytes[row];
    }
    return bytes;
  }

  void sumUp(OutsideOfDevice& of_device, size_t index) {
    OutsideMoment& moment = of_device.moments[index];
    const DriverBlocks& blocks = driver_.blocks;
    std::vector<uint64_t> in_segments = bytesInSegments(moment.time_ns);
    for (size_t row = 0; row < blocks.size(); ++row) {
      if (!belongsTo(row, of_device.ordinal) || !isLive(row, moment.time_ns)) continue;
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
    moment.least_outside_bytes = moment.most_outside_bytes = moment.outside_bytes;
  }

  // Memory outside from the earliest to the latest end. No segment changes between them.
  void findRange(OutsideOfDevice& of_device) const {
    const DriverBlocks& blocks = driver_.blocks;
    std::vector<uint64_t> in_segments = bytesInSegments(earliest_ns_);
    std::vector<std::pair<int64_t, int64_t>> changes;  // time, bytes
    uint64_t now = 0;
    for (size_t row = 0; row < blocks.size(); ++row) {
      if (!belongsTo(row, of_device.ordinal) || outside_.match.blocks[row]) continue;
      uint64_t bytes = blocks.size_bytes[row];
      bytes -= std::min(bytes, in_segments[row]);
      auto change = static_cast<int64_t>(bytes);
      auto isWithin = [&](int64_t ns) { return ns > earliest_ns_ && ns <= latest_ns_; };
      if (isLive(row, earliest_ns_)) now += bytes;
      if (isWithin(blocks.begin_ns[row])) changes.emplace_back(blocks.begin_ns[row], change);
      if (isWithin(blocks.end_ns[row])) changes.emplace_back(blocks.end_ns[row], -change);
    }
    std::sort(changes.begin(), changes.end());
    OutsideMoment& end = of_device.moments.back();
    end.least_outside_bytes = end.most_outside_bytes = now;
    for (const auto& [time_ns, bytes] : changes) {
      now += static_cast<uint64_t>(bytes);
      end.least_outside_bytes = std::min(end.least_outside_bytes, now);
      end.most_outside_bytes = std::max(end.most_outside_bytes, now);
    }
  }

  // Refusals are kept by kind with the time of the first, so only their absence is certain; and
  // only where both files are of that moment and have the same clock.
  void findRefusal(int32_t ordinal, OutsideMoment& moment) const {
    const SegmentMatch& match = outside_.match;
    int64_t apart_ns = std::llabs(match.largest_difference_ns.value_or(kClocksAgreeNs + 1));
    bool is_recorded =
        driver_.first_call_ns <= moment.time_ns && driver_.last_call_ns >= moment.time_ns;
    if (outside_.isIncomplete() || outside_.mayHaveOlder() || !is_recorded) return;
    if (apart_ns > kClocksAgreeNs) return;
    const model::RecordedRefusals& refused = work_.refused;
    for (size_t row = 0; row < refused.size(); ++row) {
      bool is_before = refused.first_ns[row] <= moment.time_ns + kClocksAgreeNs;
      if (!model::isHostMemory(refused.kind[row]) && is_before) return;
    }
    moment.refused_without_call = true;
    const auto& answers = work_.answers;
    for (size_t row = 0; row < answers.time_ns.size(); ++row) {
      bool is_near = answers.time_ns[row] <= moment.time_ns &&
                     moment.time_ns - answers.time_ns[row] < kAskedBeforeNs;
      int32_t device = answers.device[row] >= 0 ? answers.device[row] : only_;
      if (is_near && device == ordinal) moment.reported_free_bytes = answers.free_bytes[row];
    }
  }

  const AnalysedTrace& snapshot_;
  const model::RecordedWork& work_;
  const DriverMemory& driver_;
  Outside& outside_;
  std::vector<bool> was_mapped_;          // by row of blocks: ever in a segment
  int32_t only_ = model::kUnknownDevice;  // the device for memory whose device is not known
  int64_t earliest_ns_ = 0;               // when the snapshot may have been taken
  int64_t latest_ns_ = 0;                 // …
  int64_t end_ns_ = 0;                    // the moment that is shown
  std::map<std::tuple<uint32_t, MemoryKind, bool>, OutsideRow> rows_;
};

}  // namespace

void addSums(const AnalysedTrace& snapshot, std::optional<int64_t> written_ns, Outside& outside) {
  Sums(snapshot, outside).run(written_ns);
}

}  // namespace tidegauge::analysis
