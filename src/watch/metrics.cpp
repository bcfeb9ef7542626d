#include "watch/metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <set>

#include "base/text_layout.h"
#include "model/call_words.h"
#include "model/transfer_time.h"

namespace tidegauge::watch {
namespace {

using model::MemoryKind;

constexpr size_t kMaxKernels = 50;
constexpr size_t kMaxCodes = 20;
constexpr size_t kMaxNames = 100;  // label values of unfreed_at_exit
constexpr size_t kMaxLibraries = 50;
constexpr std::string_view kOther = "other";

Metric gauge(std::string name, std::string help, std::string unit = "By") {
  return {"tidegauge_" + std::move(name),
          std::move(help),
          MetricType::kGauge,
          std::move(unit),
          true,
          {}};
}
Metric counter(std::string name, std::string help, std::string unit = "1") {
  return {"tidegauge_" + std::move(name) + "_total",
          std::move(help),
          MetricType::kCounter,
          std::move(unit),
          true,
          {}};
}

std::string deviceName(int32_t device) {
  return device < 0 ? std::string("unknown") : std::to_string(device);
}
// "pinned host" → "pinned_host"
std::string labelWord(std::string_view words) {
  std::string label(words);
  std::replace(label.begin(), label.end(), ' ', '_');
  return label;
}

Labels with(const Labels& labels, std::string name, std::string value) {
  Labels all = labels;
  all.emplace_back(std::move(name), std::move(value));
  return all;
}

struct All {
  Metric memory =
      gauge("device_memory_bytes", "Live device memory that the driver allocated, by kind");
  Metric host = gauge("host_memory_bytes",
                      "Host memory that is locked for devices (pinned, registered), by kind");
  Metric peak = gauge("peak_bytes", "Peak of the live device memory");
  Metric allocations = counter("allocations", "Allocations of device memory that succeeded");
  Metric frees = counter("frees", "Frees of device memory by a call");
  Metric failures = counter("failures", "Memory calls that failed, by the code they returned");
  Metric device_used =
      gauge("device_used_bytes",
            "Used memory of a device as the driver reports it (NVML), of all processes and of the "
            "driver itself; device numbers are those of NVML");
  Metric device_total = gauge("device_total_bytes", "Memory of a device (NVML)");
  Metric untracked = gauge(
      "device_untracked_bytes",
      "Memory that the driver reports for a process on all devices (NVML), minus the memory that "
      "recorded calls allocated: contexts, modules, and memory without a recorded call");
  Metric active =
      gauge("framework_active_bytes", "Requested bytes of the live blocks of PyTorch's allocator");
  Metric unused =
      gauge("reserved_unused_bytes", "Free memory inside the segments of PyTorch's allocator");
  Metric score = gauge(
      "fragmentation_score",
      "Layout score, 0 to 100: of PyTorch's segments (reserved) or of all memory from the driver "
      "(address)",
      "1");
  Metric stranded = gauge(
      "stranded_bytes",
      "Free memory inside PyTorch's segments that a request as large as the 95th percentile of "
      "the live blocks cannot use");
  Metric forecast =
      gauge("forecast_score", "Forecast fragmentation_score of the arena reserved", "1");
  Metric risk = gauge("forecast_risk",
                      "Risk by the highest score that the published model predicts: 0 minimal, 1 "
                      "low (from 30), 2 medium (50), 3 high (70), 4 critical (above 80)",
                      "1");
  Metric confidence = gauge("forecast_confidence",
                            "Confidence of the published model, 0.1 to 1; high whenever the score "
                            "moves little, so use forecast_skill",
                            "1");
  Metric slope = gauge("forecast_slope",
                       "Slope of the last 20 fragmentation_scores, in points per 10 seconds", "1");
  Metric warning = gauge("forecast_warning",
                         "1: the published model warns that the score becomes clearly worse, is "
                         "about to jump, or has a trend; 0: it does not",
                         "1");
  Metric skill =
      gauge("forecast_skill",
            "How much smaller the published model's errors were than those of \"stays as "
            "it is\": 1 perfect, 0 as good, below 0 worse",
            "1");
  Metric growth = gauge("growth_bytes_per_second",
                        "Growth of the memory that is not freed; 0 if it may be chance", "By/s");
  Metric launches = counter(
      "kernel_launches",
      "Kernel launches; only the 50 most frequently launched kernels of a process have a name");
  Metric copied = counter("copy_bytes", "Bytes of copies and sets, by direction", "By");
  Metric copy_time =
      counter("copy_seconds", "Host time in copies that return when they are finished", "s");
  Metric unfreed =
      counter("unfreed_at_exit_bytes",
              "Device memory that processes of a name had not freed when they ended", "By");
  Metric lost =
      counter("events_lost",
              "Events that the recorder lost; if above 0, some figures are incomplete (see "
              "tidegauge_incomplete)");
  Metric incomplete = gauge(
      "incomplete",
      "1: these figures are incomplete (events lost, not watched, or before the recorder started)",
      "1");
  Metric unwatched = gauge(
      "unwatched_functions",
      "Functions of a library that could not be watched; 1 if no function of the library could be "
      "watched",
      "1");
  Metric cpu = counter("recorder_cpu_seconds", "CPU time of the recorder itself", "s");
  Metric processes = gauge("processes", "Processes that run and have called CUDA", "1");
};

void addMemory(All& all, const Labels& labels, const model::ProcessLedger& ledger) {
  for (int32_t device : ledger.devices()) {
    Labels here = with(labels, "device", deviceName(device));
    for (size_t i = 0; i < model::kMemoryKinds; ++i) {
      auto kind = static_cast<MemoryKind>(i);
      const model::MemorySum& sum = ledger.sum(device, kind);
      if (sum.allocations == 0) continue;
      Sample sample{with(here, "kind", labelWord(model::name(kind))),
                    static_cast<double>(sum.bytes)};
      if (model::isDeviceMemory(kind))
        all.memory.samples.push_back(std::move(sample));
      else if (model::isHostMemory(kind))
        all.host.samples.push_back(std::move(sample));
    }
    const model::MemorySum& sum = ledger.deviceSum(device);
    if (sum.allocations > 0 || sum.frees > 0) {
      all.peak.samples.push_back({here, static_cast<double>(sum.peak_bytes)});
      all.allocations.samples.push_back({here, static_cast<double>(sum.allocations)});
      all.frees.samples.push_back({here, static_cast<double>(sum.frees)});
    }
    const model::MemorySum& blocks = ledger.sum(device, MemoryKind::kBlock);
    if (blocks.allocations > 0)
      all.active.samples.push_back({here, static_cast<double>(blocks.bytes)});
  }
  // A program may return any code, so the rarest share a label.
  std::vector<std::pair<uint64_t, int32_t>> codes;
  for (const auto& [code, count] : ledger.failuresByCode()) codes.emplace_back(count, code);
  std::sort(codes.begin(), codes.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  uint64_t others = 0;
  for (size_t i = 0; i < codes.size(); ++i) {
    if (i >= kMaxCodes) {
      others += codes[i].first;
      continue;
    }
    all.failures.samples.push_back({with(labels, "code", std::to_string(codes[i].second)),
                                    static_cast<double>(codes[i].first)});
  }
  if (others > 0)
    all.failures.samples.push_back(
        {with(labels, "code", std::string(kOther)), static_cast<double>(others)});
}

// Managed memory may not be on a device: then the difference means nothing.
void addUntracked(All& all, const Labels& labels, const record::Session& session, uint32_t pid,
                  const model::ProcessLedger& ledger) {
  std::optional<uint64_t> used_bytes = session.driversFigureOf(pid);
  if (!used_bytes) return;
  uint64_t recorded_bytes = 0;
  for (int32_t device : ledger.devices()) {
    if (ledger.sum(device, MemoryKind::kManaged).bytes > 0) return;
    recorded_bytes += ledger.deviceSum(device).bytes;
  }
  uint64_t bytes = *used_bytes - std::min(*used_bytes, recorded_bytes);
  all.untracked.samples.push_back({labels, static_cast<double>(bytes)});
}

void addDevices(All& all, const record::Session& session) {
  if (!session.devices()) return;
  for (const record::DeviceUse& use : session.devices()->devices) {
    Labels labels = {{"device", std::to_string(use.device)}};
    if (!use.used_bytes) continue;
    all.device_used.samples.push_back({labels, static_cast<double>(*use.used_bytes)});
    all.device_total.samples.push_back({labels, static_cast<double>(use.total_bytes)});
  }
}

void addCopies(All& all, const Labels& labels, const record::SessionProcess& process) {
  struct Sum {
    uint64_t bytes = 0, time_ns = 0;
    bool is_timed = false;
  };
  std::map<uint8_t, Sum> sums;
  for (const record::CopyCount& copy : process.copies) {
    Sum& sum = sums[copy.direction];
    sum.bytes += copy.bytes;
    if (!model::isTransferTime(record::directionName(copy.direction), copy.submitted)) continue;
    sum.is_timed = true;
    sum.time_ns += copy.time_ns;
  }
  for (const auto& [direction, sum] : sums) {
    Labels here = with(labels, "direction", labelWord(record::directionName(direction)));
    all.copied.samples.push_back({here, static_cast<double>(sum.bytes)});
    if (sum.is_timed)
      all.copy_time.samples.push_back({here, static_cast<double>(sum.time_ns) / 1e9});
  }
}

void addPublished(All& all, const Labels& here, const PublishedForecast& of) {
  all.risk.samples.push_back({here, static_cast<double>(of.risk)});
  all.confidence.samples.push_back({here, of.confidence});
  all.slope.samples.push_back({here, of.slope});
  auto warn = [&](const char* kind, bool is_on) {
    all.warning.samples.push_back({with(here, "kind", kind), is_on ? 1.0 : 0.0});
  };
  warn("worse", of.warnings.worse);
  warn("jump", of.warnings.jump);
  warn("trend", of.warnings.trend);
  if (of.skill) all.skill.samples.push_back({here, *of.skill});
}

void addArenas(All& all, const Labels& labels, const std::vector<ArenaFigures>& arenas) {
  for (const ArenaFigures& arena : arenas) {
    Labels here = with(labels, "device", deviceName(arena.device));
    if (arena.growth_bytes_per_second)
      all.growth.samples.push_back({here, *arena.growth_bytes_per_second});
    if (!arena.has_allocator) continue;
    all.unused.samples.push_back({here, static_cast<double>(arena.reserved_unused_bytes)});
    all.stranded.samples.push_back({here, static_cast<double>(arena.stranded_bytes)});
    all.score.samples.push_back({with(here, "arena", "reserved"), arena.reserved_score});
    all.score.samples.push_back({with(here, "arena", "address"), arena.address_score});
    for (const auto& [horizon, score] : arena.forecast)
      all.forecast.samples.push_back({with(here, "horizon", horizon), score});
    if (arena.published) addPublished(all, here, *arena.published);
  }
}

// By name only, and from the first process of that name on, so that the counter rises for good when
// one ends.
void addUnfreed(Metric& metric, const record::Session& session) {
  std::map<std::string, uint64_t> by_name = session.forgottenUnfreed();
  for (const record::SessionProcess& process : session.processes()) {
    if (!hasCalled(session, process)) continue;
    std::string name = base::printable(process.seen.name);
    if (!by_name.contains(name) && by_name.size() >= kMaxNames) name = kOther;
    uint64_t& bytes = by_name[name];
    const model::ProcessLedger* ledger = session.ledger().find(process.seen.index);
    if (process.ended_ns && ledger != nullptr) bytes += ledger->unfreedBytes();
  }
  for (const auto& [name, bytes] : by_name)
    metric.samples.push_back({{{"comm", name}}, static_cast<double>(bytes)});
}

// By the name of the file: the rarest share a label.
void addUnwatched(Metric& metric, const record::Session& session) {
  std::map<std::string, uint64_t> by_name;
  for (const record::WatchedLibrary& library : session.libraries()) {
    if (library.unwatched.empty()) continue;
    std::string name = base::printable(library.path.substr(library.path.rfind('/') + 1));
    if (!by_name.contains(name) && by_name.size() >= kMaxLibraries) name = kOther;
    by_name[name] += library.unwatched.size();
  }
  for (const auto& [name, count] : by_name)
    metric.samples.push_back({{{"library", name}}, static_cast<double>(count)});
}

}  // namespace

double cpuSecondsOfRecorder() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

bool hasCalled(const record::Session& session, const record::SessionProcess& process) {
  return session.ledger().find(process.seen.index) != nullptr || !process.launches.empty() ||
         !process.copies.empty();
}

std::vector<uint32_t> toldProcesses(const record::Session& session, int64_t now_ns) {
  std::set<std::pair<uint32_t, std::string>> taken;
  std::vector<uint32_t> reported;
  const auto& processes = session.processes();
  for (auto it = processes.rbegin(); it != processes.rend(); ++it) {
    const record::SessionProcess& process = *it;
    if (process.ended_ns && now_ns - *process.ended_ns > record::kKeepEnded_ns) continue;
    if (!hasCalled(session, process)) continue;
    if (taken.emplace(process.seen.pid, base::printable(process.seen.name)).second)
      reported.push_back(process.seen.index);
  }
  std::reverse(reported.begin(), reported.end());
  return reported;
}

MetricsMaker::Launches MetricsMaker::launchesOf(uint32_t process,
                                                const record::SessionProcess& seen) {
  if (seen.launches.empty() && !kernels_.contains(process)) return {};
  std::vector<std::pair<uint64_t, std::string>> order;
  for (const auto& [name, count] : seen.launches) order.emplace_back(count, name);
  size_t named = std::min(order.size(), kMaxKernels);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(named), order.end(),
                    [](const auto& a, const auto& b) {
                      return a.first != b.first ? a.first > b.first : a.second < b.second;
                    });
  KernelCounts& counts = kernels_[process];
  Launches launches;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto& [count, name] = order[i];
    uint64_t& before = counts.total[name];
    uint64_t more = count - before;
    before = count;
    if (i >= named || name == kOther) {
      counts.other += more;
    } else {
      uint64_t& reported = counts.reported[name];
      reported += more;
      launches.emplace_back(name, reported);
    }
  }
  if (counts.other > 0) launches.emplace_back(kOther, counts.other);
  return launches;
}

std::vector<Metric> MetricsMaker::make(const MetricInputs& inputs) {
  const record::Session& session = *inputs.session;
  All all;
  size_t running = 0;
  std::vector<uint32_t> reported = toldProcesses(session, inputs.now_ns);
  for (uint32_t index : reported) {
    const record::SessionProcess& process = session.processes()[index];
    running += process.ended_ns ? 0 : 1;
    Labels labels = {{"pid", std::to_string(process.seen.pid)},
                     {"comm", base::printable(process.seen.name)}};
    if (const model::ProcessLedger* ledger = session.ledger().find(index)) {
      addMemory(all, labels, *ledger);
      if (!process.ended_ns) addUntracked(all, labels, session, process.seen.pid, *ledger);
    }
    addCopies(all, labels, process);
    for (std::string_view figures : session.incompleteOf(process).names())
      all.incomplete.samples.push_back({with(labels, "figures", labelWord(figures)), 1});
    if (auto arenas = inputs.arenas.find(index); arenas != inputs.arenas.end())
      addArenas(all, labels, arenas->second);
    for (const auto& [kernel, count] : launchesOf(index, process))
      all.launches.samples.push_back({with(labels, "kernel", kernel), static_cast<double>(count)});
  }
  std::erase_if(kernels_, [&](const auto& entry) {
    return !std::binary_search(reported.begin(), reported.end(), entry.first);
  });
  addDevices(all, session);
  addUnfreed(all.unfreed, session);
  addUnwatched(all.unwatched, session);
  for (size_t i = 0; i < LOSS_KINDS; ++i)
    all.lost.samples.push_back(
        {{{"reason", labelWord(record::lossReason(i))}}, static_cast<double>(inputs.losses[i])});
  all.cpu.samples.push_back({{}, inputs.recorder_cpu_seconds});
  all.processes.samples.push_back({{}, static_cast<double>(running)});
  for (Metric* metric : {&all.score, &all.forecast, &all.confidence, &all.slope, &all.skill,
                         &all.growth, &all.copy_time, &all.cpu})
    metric->is_whole = false;
  std::vector<Metric> metrics;
  for (Metric* metric :
       {&all.device_used, &all.device_total, &all.untracked, &all.memory,   &all.host,
        &all.peak,        &all.allocations,  &all.frees,     &all.failures, &all.active,
        &all.unused,      &all.score,        &all.stranded,  &all.forecast, &all.risk,
        &all.confidence,  &all.slope,        &all.warning,   &all.skill,    &all.growth,
        &all.launches,    &all.copied,       &all.copy_time, &all.unfreed,  &all.lost,
        &all.incomplete,  &all.unwatched,    &all.cpu,       &all.processes})
    if (!metric->samples.empty()) metrics.push_back(std::move(*metric));
  for (Metric& metric : workingSetMetrics(inputs.working_sets))
    metrics.push_back(std::move(metric));
  return metrics;
}

}  // namespace tidegauge::watch
