#include "report/words/range_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/summary.h"
#include "model/recorded_work.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using analysis::DeviceAnalysis;
using analysis::StepRange;

base::Error noSuchDevice(const AnalysedTrace& analysed, int32_t ordinal) {
  std::vector<int32_t> ordinals;
  for (const auto& device : analysed.devices) ordinals.push_back(device->device.ordinal);
  return {base::ErrorKind::kUsage,
          fmt::format("there is no device {}", ordinal),
          {},
          ordinals.empty() ? "The file has none."
                           : fmt::format("The file has: {}.", fmt::join(ordinals, ", "))};
}

}  // namespace

base::Result<Choice> choose(const AnalysedTrace& analysed, const Selection& selection) {
  Choice choice;
  if (selection.device && analysed.findDevice(*selection.device) == nullptr) {
    return noSuchDevice(analysed, *selection.device);
  }
  for (const auto& device : analysed.devices) {
    if (selection.device && device->device.ordinal != *selection.device) continue;
    if (!selection.isRange()) {
      choice.devices.push_back({device.get(), std::nullopt});
      continue;
    }
    auto range = analysis::stepRange(analysed, *device, selection.from, selection.to);
    if (range.ok()) {
      choice.devices.push_back({device.get(), std::move(range).value()});
    } else {
      choice.absent.push_back(range.error());
    }
  }
  if (choice.devices.empty() && !choice.absent.empty()) return choice.absent.front();
  return choice;
}

RangeSummary summariseRange(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                            const StepRange& range) {
  RangeSummary summary;
  summary.range = range;
  const analysis::TotalsIndex& totals = device.totals;
  summary.before = range.first == 0 ? totals.initial() : totals.at(range.first - 1);
  summary.after = totals.at(range.last);
  summary.peak = analysis::peaksOver(totals, range.first, range.last);
  summary.peak.holders = analysis::holdersAt(analysed, device, summary.peak.active);
  uint64_t slack_bytes = model::peakSlackOf(analysed.trace, device.device.ordinal).moment_bytes;
  summary.peak.uncertain_bytes = summary.peak.reserved_uncertain_bytes = slack_bytes;
  summary.peak.is_order_uncertain = slack_bytes > 0;
  summary.peak.bounds = model::boundsOf(device.device);
  summary.peak.is_at_least = analysis::isPeakAtLeast(analysed, device, range.first, range.last);
  for (analysis::OomReport& oom : analysis::oomsOf(analysed, device, 100)) {
    if (range.first <= oom.step && oom.step <= range.last) summary.ooms.push_back(std::move(oom));
  }
  return summary;
}

}  // namespace tidegauge::report
