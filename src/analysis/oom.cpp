#include "analysis/oom.h"

#include <algorithm>
#include <numeric>

namespace tidegauge::analysis {
namespace {

using model::Action;

// What the failing malloc gave back before it gave up: the run of releases (and the completions of
// frees it waited for) that ends at the OOM.
void countGivenBack(const model::Trace& trace, const model::Device& device, OomReport& report) {
  for (Step step = report.step; step > 0; --step) {
    uint64_t event = device.event_begin + step - 1;
    Action action = trace.events.action[event];
    if (action == Action::kSegmentFree || action == Action::kSegmentUnmap) {
      report.given_back_bytes += trace.events.size_bytes[event];
      report.given_back_segments++;
    } else if (action != Action::kFreeCompleted || step < 2 ||
               trace.events.action[event - 1] == Action::kFreeRequested) {
      break;
    }
  }
}

std::optional<uint64_t> known(uint64_t bytes) {
  return bytes == model::kUnknownBytes ? std::nullopt : std::optional(bytes);
}

}  // namespace

std::vector<OomReport> oomsOf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                              size_t detailed) {
  const model::Trace& trace = analysed.trace;
  std::vector<OomReport> reports;
  for (uint64_t event = device.device.event_begin; event < device.device.event_end; ++event) {
    if (trace.events.action[event] != Action::kOom) continue;
    OomReport report;
    report.step = static_cast<Step>(event - device.device.event_begin);
    report.requested_bytes = known(trace.events.size_bytes[event]);
    report.device_free_bytes = known(trace.events.address[event]);
    report.totals = device.totals.at(report.step);
    report.stack = trace.events.stack[event];
    countGivenBack(trace, device.device, report);
    reports.push_back(std::move(report));
  }
  std::vector<size_t> worst(reports.size());
  std::iota(worst.begin(), worst.end(), size_t{0});
  std::stable_sort(worst.begin(), worst.end(), [&](size_t a, size_t b) {
    return reports[a].overBytes() > reports[b].overBytes();
  });
  if (worst.size() > detailed) worst.resize(detailed);
  for (size_t index : worst) {
    OomReport& report = reports[index];
    report.phases = phasesAt(device.phases, report.step);
    report.free = freeParts(trace, blocksAt(trace, device.device, device.live, report.step));
  }
  return reports;
}

}  // namespace tidegauge::analysis
