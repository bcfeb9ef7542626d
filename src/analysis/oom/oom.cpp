#include "analysis/oom/oom.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analysis/layout/allocator_rules.h"
#include "model/lives/other_events.h"
#include "model/recorded_work.h"

namespace tidegauge::analysis {
namespace {

using model::Action;

// What the failing malloc did before it gave up: the run of releases, of pages mapped in vain and
// of completed frees that it waited for, which ends at the OOM. A completion right after its own
// request is an ordinary free.
void countOwnRun(const model::Trace& trace, const model::Device& device, OomReport& report) {
  const model::Events& events = trace.events;
  for (report.first_step = report.step; report.first_step > 0; --report.first_step) {
    uint64_t event = device.event_begin + report.first_step - 1;
    switch (events.action[event]) {
      case Action::kSegmentFree:
      case Action::kSegmentUnmap:
        report.given_back_bytes += events.size_bytes[event];
        report.given_back_segments++;
        report.has_unmapped |= events.action[event] == Action::kSegmentUnmap;
        break;
      case Action::kSegmentMap:
        report.mapped_bytes += events.size_bytes[event];
        break;
      case Action::kFreeCompleted:
        if (event == device.event_begin) return;  // unknown
        if (events.action[event - 1] == Action::kFreeRequested &&
            events.address[event - 1] == events.address[event]) {
          return;
        }
        report.completed++;
        break;
      default:
        return;
    }
  }
}

bool isGivenBetween(const model::Trace& trace, const model::Device& device, Step begin, Step end) {
  for (Step step = begin; step < end; ++step) {
    switch (trace.events.action[device.event_begin + step]) {
      case Action::kAlloc:
      case Action::kSegmentAlloc:
      case Action::kSegmentMap:
        return true;
      default:
        break;
    }
  }
  return false;
}

// Stacks alone do not suffice: a line that a compiler emitted several times has several addresses.
bool isOneCallSite(const StackLabels& labels, StackId a, StackId b) {
  if (!a.valid() || !b.valid()) return false;
  return a == b || (labels.label(a) == labels.label(b) && labels.caller(a) == labels.caller(b));
}

void numberSeries(const AnalysedTrace& analysed, const model::Device& device,
                  std::vector<OomReport>& reports) {
  for (size_t i = 1; i < reports.size(); ++i) {
    const OomReport& before = reports[i - 1];
    OomReport& report = reports[i];
    bool is_known = report.requested_bytes && before.requested_bytes;
    bool goes_on = is_known && *report.requested_bytes <= *before.requested_bytes &&
                   isOneCallSite(analysed.labels, report.stack, before.stack) &&
                   !isGivenBetween(analysed.trace, device, before.step + 1, report.first_step);
    report.is_retry = goes_on && *report.requested_bytes == *before.requested_bytes;
    report.series = before.series + (goes_on && !report.is_retry ? 0 : 1);
  }
}

// In a recording, a row of refusals is one event (model::RecordedRefusalRows).
void countRefusals(const model::Trace& trace, uint64_t event, OomReport& report) {
  if (trace.work == nullptr) return;
  const model::RecordedRefusalRows& rows = trace.work->refused_in_row;
  auto at = std::lower_bound(rows.event.begin(), rows.event.end(), event);
  bool is_row = at != rows.event.end() && *at == event;
  auto row = static_cast<size_t>(at - rows.event.begin());
  report.refusals = is_row ? rows.count[row] : 1;
  int64_t time_us = trace.events.time_us[event];
  if (is_row)
    report.first_refusal_ns = rows.first_ns[row];
  else if (time_us != model::kNoTime)
    report.first_refusal_ns = time_us * 1000;
}

std::pair<uint64_t, uint64_t> badnessOf(const OomReport& oom) {
  return {oom.overBytes(), oom.requested_bytes.value_or(0)};
}

std::optional<uint64_t> known(uint64_t bytes) {
  return bytes == model::kUnknownBytes ? std::nullopt : std::optional(bytes);
}

}  // namespace

std::vector<OomReport> oomsOf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                              size_t detailed) {
  const model::Trace& trace = analysed.trace;
  bool has_allocator = allocatorOf(device.device) != AllocatorKind::kDriver;
  std::optional<DriverFigures> figures;
  if (!has_allocator) figures.emplace(analysed, device);
  std::vector<OomReport> reports;
  std::vector<uint64_t> events;
  model::forEachOther(trace.events, device.device, [&](uint64_t event) {
    if (trace.events.action[event] == Action::kOom) events.push_back(event);
  });
  for (uint64_t event : events) {
    OomReport report;
    report.step = static_cast<Step>(event - device.device.event_begin);
    report.first_step = report.step;
    report.requested_bytes = known(trace.events.size_bytes[event]);
    report.device_free_bytes = known(trace.events.address[event]);
    report.totals = device.totals.at(report.step);
    report.stack = trace.events.stack[event];
    countRefusals(trace, event, report);
    if (has_allocator) {
      countOwnRun(trace, device.device, report);
    } else if (!report.device_free_bytes) {
      report.driver_free = figures->at(report.step);
      if (report.driver_free) report.device_free_bytes = report.driver_free->leftBytes();
    }
    reports.push_back(std::move(report));
  }
  numberSeries(analysed, device.device, reports);
  std::vector<size_t> worst(reports.size());
  std::iota(worst.begin(), worst.end(), size_t{0});
  std::sort(worst.begin(), worst.end(), [&](size_t a, size_t b) {  // see worstOf
    return std::pair(badnessOf(reports[a]), a) > std::pair(badnessOf(reports[b]), b);
  });
  if (worst.size() > detailed) worst.resize(detailed);
  for (size_t index : worst) addDetails(analysed, device, reports[index]);
  return reports;
}

void addDetails(const AnalysedTrace& analysed, const DeviceAnalysis& device, OomReport& report) {
  const model::Trace& trace = analysed.trace;
  report.phases = phasesAt(device.phases, report.step);
  report.free = freeSums(trace, blocksAt(trace, device.device, device.live, report.step));
}

bool isAsBad(const OomReport& a, const OomReport& b) { return badnessOf(a) >= badnessOf(b); }

size_t worstOf(const std::vector<OomReport>& ooms) {
  size_t worst = 0, first_try = 0;
  for (size_t i = 0; i < ooms.size(); ++i) {
    if (!ooms[i].is_retry) first_try = i;
    bool is_its_retry = worst >= first_try && worst < i;
    bool is_worse = !isAsBad(ooms[worst], ooms[i]);
    if (is_worse || (isAsBad(ooms[i], ooms[worst]) && !is_its_retry)) worst = i;
  }
  return worst;
}

RefusalSeries seriesAround(const std::vector<OomReport>& ooms, size_t index) {
  RefusalSeries series{.first = index, .last = index};
  uint64_t number = ooms[index].series;
  while (series.first > 0 && ooms[series.first - 1].series == number) --series.first;
  while (series.last + 1 < ooms.size() && ooms[series.last + 1].series == number) ++series.last;
  for (size_t i = series.first; i <= series.last; ++i) series.requests += ooms[i].requests();
  return series;
}

uint64_t refusedRequests(const std::vector<OomReport>& ooms) {
  uint64_t requests = 0;
  for (const OomReport& oom : ooms) requests += oom.requests();
  return requests;
}

}  // namespace tidegauge::analysis
