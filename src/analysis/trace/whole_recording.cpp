#include "analysis/trace/whole_recording.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "model/incomplete.h"
#include "model/ledger/ledger.h"
#include "model/pcie_link.h"

namespace tidegauge::analysis {
namespace {

using model::kNotRecorded;

// Counts in a hostile file may have any value.
template <class Number>
void addTo(uint64_t& sum, Number more) {
  if (more > 0 && __builtin_add_overflow(sum, static_cast<uint64_t>(more), &sum)) sum = UINT64_MAX;
}

ProcessSum sumOf(const AnalysedTrace& analysed, size_t index) {
  const model::RecordedWork& work = *analysed.trace.work;
  ProcessSum sum;
  sum.trace = index;
  sum.process_id = work.process_id;
  if (work.run) {
    const model::RecordedProcesses& p = work.run->processes;
    if (auto row = model::rowOf(p, work.process_id)) {
      auto text = [&](base::StringId id) { return std::string(work.run->strings.text(id)); };
      sum.pid = p.pid[*row];
      sum.name = text(p.name[*row]);
      sum.command = text(p.command[*row]);
      sum.began_ns = p.began_ns[*row];
      sum.ended_ns = p.ended_ns[*row];
      sum.exit_status = p.exit_status[*row];
      sum.end_reason = text(p.end_reason[*row]);
    }
    model::Incomplete incomplete = model::incompleteOf(work);
    if (incomplete.any()) sum.incomplete = listOf(incomplete.figures());
    constexpr model::FigureSet kOfMemory = {model::Figures::kMemory, model::Figures::kBlocks};
    if (incomplete.touches(kOfMemory))
      sum.memory = incomplete.isAtLeast(kOfMemory) ? Sureness::kAtLeast : Sureness::kIncomplete;
    // Counts can only be too low.
    if (incomplete.touches({model::Figures::kLaunches})) sum.launched = Sureness::kAtLeast;
    if (incomplete.touches({model::Figures::kCopies})) sum.copied = Sureness::kAtLeast;
  }
  for (const auto& device : analysed.devices) {
    bool is_gpu = device->device.kind == model::DeviceKind::kGpu;
    addTo(is_gpu ? sum.peak_bytes : sum.host_peak_bytes, device->totals.peakReserved().bytes);
    addTo(is_gpu ? sum.peak_uncertain_bytes : sum.host_peak_uncertain_bytes,
          model::peakSlackOf(analysed.trace, device->device.ordinal).reserved_bytes);
    addTo(is_gpu ? sum.live_bytes : sum.host_live_bytes, device->totals.last().reserved_bytes);
    if (!is_gpu) continue;
    addTo(sum.initial_bytes, device->totals.initial().reserved_bytes);
    sum.at_least |= model::isAtLeast(analysed.trace, device->device.ordinal);
    if (sum.at_least) sum.memory = std::max(sum.memory, Sureness::kAtLeast);
  }
  sum.at_least |= sum.memory == Sureness::kAtLeast;
  for (size_t i = 0; i < work.held.size(); ++i) {
    if (work.held.kind[i] == model::MemoryKind::kBlock)
      addTo(sum.block_live_bytes, work.held.bytes[i]);
  }
  for (int64_t count : work.launches.count) addTo(sum.launches, count);
  for (int64_t count : work.copies.count) addTo(sum.copies, count);
  for (int64_t bytes : work.copies.size_bytes) addTo(sum.copied_bytes, bytes);
  for (int64_t count : work.copies.failures) addTo(sum.copy_failures, count);
  for (uint64_t count : work.refused.count) addTo(sum.refused, count);
  return sum;
}

void addHeld(const model::RecordedWork& work, int64_t pid, std::vector<HeldSum>& all) {
  std::map<std::pair<int32_t, model::MemoryKind>, HeldSum> sums;
  for (size_t i = 0; i < work.held.size(); ++i) {
    HeldSum& sum = sums[{work.held.device[i], work.held.kind[i]}];
    addTo(sum.bytes, work.held.bytes[i]);
    addTo(sum.count, work.held.count[i]);
  }
  for (auto& [key, sum] : sums) {
    sum.process_id = work.process_id;
    sum.pid = pid;
    std::tie(sum.device, sum.kind) = key;
    all.push_back(sum);
  }
}

bool hasManaged(const model::RecordedWork& work) {
  return (work.drivers_figure && work.drivers_figure->has_managed) ||
         std::find(work.held.kind.begin(), work.held.kind.end(), model::MemoryKind::kManaged) !=
             work.held.kind.end();
}

// Memory on GPUs that its calls had allocated, live at that time.
uint64_t liveAt(const AnalysedTrace& analysed, int64_t time_ns) {
  uint64_t sum = 0;
  for (const auto& device : analysed.devices) {
    if (device->device.kind != model::DeviceKind::kGpu || !device->time.present()) continue;
    model::Step after = device->time.stepAfter(time_ns / 1000);
    addTo(sum,
          (after == 0 ? device->totals.initial() : device->totals.at(after - 1)).reserved_bytes);
  }
  return sum;
}

// Which program had a pid at a time.
class Pids {
 public:
  explicit Pids(const model::RecordedProcesses& processes) : processes_(processes) {
    for (size_t row = 0; row < processes.size(); ++row) rows_.push_back(row);
    std::stable_sort(rows_.begin(), rows_.end(),
                     [&](size_t a, size_t b) { return keyOf(a) < keyOf(b); });
  }

  // The program that began last by then, unless it had ended: a pid belongs to one at a time.
  std::optional<size_t> rowOf(int64_t pid, int64_t time_ns) const {
    auto after = std::partition_point(rows_.begin(), rows_.end(), [&](size_t row) {
      return keyOf(row) <= std::pair(pid, time_ns);
    });
    if (after == rows_.begin()) return std::nullopt;
    size_t row = *std::prev(after);
    int64_t ended_ns = processes_.ended_ns[row];
    if (processes_.pid[row] != pid || (ended_ns != kNotRecorded && ended_ns < time_ns))
      return std::nullopt;
    return row;
  }

 private:
  std::pair<int64_t, int64_t> keyOf(size_t row) const {
    return {processes_.pid[row], processes_.began_ns[row]};
  }

  const model::RecordedProcesses& processes_;
  std::vector<size_t> rows_;  // by pid and beginning
};

class Gpus {
 public:
  Gpus(std::span<const AnalysedTrace* const> traces, WholeRecording& whole)
      : traces_(traces),
        whole_(whole),
        memory_(whole.run->device_memory),
        pids_(whole.run->processes) {
    for (const ProcessSum& sum : whole.processes) trace_of_[sum.process_id] = sum.trace;
  }

  void fill() {
    const model::RecordedDevices& devices = whole_.run->devices;
    std::map<int32_t, GpuSum> gpus;
    for (size_t i = 0; i < devices.size(); ++i) {
      GpuSum& gpu = gpus[devices.device[i]];
      gpu.name = whole_.run->strings.text(devices.name[i]);
      gpu.uuid = whole_.run->strings.text(devices.uuid[i]);
      gpu.total_bytes = devices.total_bytes[i];
      gpu.pcie_generation = devices.pcie_generation[i];
      gpu.pcie_lanes = devices.pcie_lanes[i];
      gpu.link_bytes_per_second = model::pcieBytesPerSecond(gpu.pcie_generation, gpu.pcie_lanes);
    }
    std::vector<size_t> order(memory_.size());  // by device and time
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    auto key = [&](size_t row) { return std::pair(memory_.device[row], memory_.time_ns[row]); };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return key(a) < key(b); });
    std::map<int32_t, std::span<const size_t>> rows_of;
    for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      int32_t device = memory_.device[order[begin]];
      while (end < order.size() && memory_.device[order[end]] == device) ++end;
      rows_of[device] = std::span(order).subspan(begin, end - begin);
      addSums(gpus[device], rows_of[device]);
    }
    for (auto& [device, gpu] : gpus) {
      gpu.device = device;
      if (gpu.peak_used_bytes) addUses(gpu, rows_of[device]);
      whole_.gpus.push_back(std::move(gpu));
    }
  }

 private:
  // `rows` of one device, in order of time.
  void addSums(GpuSum& gpu, std::span<const size_t> rows) {
    for (size_t row : rows) {
      if (memory_.pid[row] != kNotRecorded) {
        if (memory_.used_bytes[row] > 0) devices_of_[memory_.pid[row]].insert(memory_.device[row]);
        continue;
      }
      gpu.last_used_bytes = memory_.used_bytes[row];
      if (gpu.peak_used_bytes && *gpu.peak_used_bytes >= memory_.used_bytes[row]) continue;
      gpu.peak_used_bytes = memory_.used_bytes[row];
      gpu.peak_ns = memory_.time_ns[row];
    }
  }

  void addUses(GpuSum& gpu, std::span<const size_t> rows) {
    std::map<int64_t, uint64_t> used;  // a row applies until the next of its pid
    for (size_t row : rows) {
      if (memory_.time_ns[row] > gpu.peak_ns) break;
      if (memory_.pid[row] != kNotRecorded) used[memory_.pid[row]] = memory_.used_bytes[row];
    }
    size_t begin = whole_.gpu_uses.size();
    for (auto [pid, bytes] : used) {
      if (bytes == 0) continue;
      GpuUse use{
          .device = gpu.device, .pid = pid, .name = {}, .used_bytes = bytes, .recorded_bytes = {}};
      nameIt(use, gpu.peak_ns);
      addTo(gpu.by_processes_bytes, bytes);
      whole_.gpu_uses.push_back(std::move(use));
    }
    std::stable_sort(whole_.gpu_uses.begin() + static_cast<std::ptrdiff_t>(begin),
                     whole_.gpu_uses.end(),
                     [](const GpuUse& a, const GpuUse& b) { return a.used_bytes > b.used_bytes; });
  }

  // The program that had this pid then, and the memory that calls had allocated to it.
  void nameIt(GpuUse& use, int64_t time_ns) const {
    const model::RecordedProcesses& p = whole_.run->processes;
    std::optional<size_t> row = pids_.rowOf(use.pid, time_ns);
    if (!row) return;
    use.process_id = p.process_id[*row];
    use.name = whole_.run->strings.text(p.name[*row]);
    auto devices = devices_of_.find(use.pid);
    auto trace = trace_of_.find(use.process_id);
    if (devices == devices_of_.end() || devices->second.size() != 1 || trace == trace_of_.end())
      return;
    const AnalysedTrace& analysed = *traces_[trace->second];
    if (!hasManaged(*analysed.trace.work)) use.recorded_bytes = liveAt(analysed, time_ns);
  }

  std::span<const AnalysedTrace* const> traces_;
  WholeRecording& whole_;
  const model::RecordedDeviceMemory& memory_;
  Pids pids_;
  std::map<int64_t, size_t> trace_of_;               // by process_id
  std::map<int64_t, std::set<int32_t>> devices_of_;  // by pid: every device it used
};

}  // namespace

WholeRecording wholeRecording(std::span<const AnalysedTrace* const> traces,
                              std::shared_ptr<const model::RecordedRun> run) {
  WholeRecording whole;
  for (size_t i = 0; i < traces.size(); ++i) {
    const auto& work = traces[i]->trace.work;
    if (!work || work->process_id < 0) continue;  // of a recording without calls
    whole.processes.push_back(sumOf(*traces[i], i));
    addHeld(*work, whole.processes.back().pid, whole.held);
  }
  whole.run = std::move(run);
  for (size_t i = 0; i < traces.size() && !whole.run; ++i) {
    if (const auto& work = traces[i]->trace.work) whole.run = work->run;
  }
  if (whole.run) Gpus(traces, whole).fill();
  return whole;
}

WholeRecordings wholeRecordings(std::span<const AnalysedTrace* const> traces) {
  std::map<const model::RecordedRun*, std::vector<const AnalysedTrace*>> by_run;
  for (const AnalysedTrace* trace : traces) {
    if (trace->trace.work && trace->trace.work->run)
      by_run[trace->trace.work->run.get()].push_back(trace);
  }
  WholeRecordings all;
  for (const auto& [run, its] : by_run)
    all[run] = std::make_shared<const WholeRecording>(wholeRecording(its));
  return all;
}

std::shared_ptr<const WholeRecording> wholeOf(const WholeRecordings& all,
                                              const AnalysedTrace& trace) {
  if (!trace.trace.work) return nullptr;
  auto found = all.find(trace.trace.work->run.get());
  return found == all.end() ? nullptr : found->second;
}

}  // namespace tidegauge::analysis
