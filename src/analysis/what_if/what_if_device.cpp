#include "analysis/what_if/what_if_device.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/oom/private_pools.h"
#include "replay/limit.h"

namespace tidegauge::analysis {
namespace {

uint64_t mostReserved(const DeviceAnalysis& device) {
  return std::max(device.totals.peakReserved().bytes, device.totals.initial().reserved_bytes);
}

// The smallest device whose fraction covers what the process had. Absent: no device is that large.
std::optional<uint64_t> leastDeviceBytes(uint64_t had_bytes, double fraction,
                                         uint64_t ceiling_bytes) {
  double least = std::ceil(static_cast<double>(had_bytes) / fraction) + 1;
  constexpr double kMost = 1ULL << 60;
  if (least >= kMost) return std::nullopt;
  return std::max(ceiling_bytes, static_cast<uint64_t>(least));
}

// The limit that kept the process below the capacity, if no failure with nothing left shows it.
void findLimit(const AnalysedTrace& analysed, const DeviceAnalysis& device,
               replay::VerifyOptions& options, WhatIf& report) {
  uint64_t most_bytes = mostReserved(device);
  if (auto limit =
          replay::limitOf(analysed.trace, device.device, options, report.verified, most_bytes)) {
    options.settings.limit_bytes = limit->least_bytes;
    auto under = replay::verify(analysed.trace, device.device, options);
    if (!replay::explainsMore(report.verified, under)) {
      report.limit_bytes = limit->least_bytes;
      report.limit_most_bytes = limit->most_bytes;
      report.verified = std::move(under);
      return;
    }
    options.settings.limit_bytes.reset();
  }
  if (!report.capacity_bytes && report.verified.refused_at_bytes && most_bytes > 0) {
    report.capacity_bytes = most_bytes;
    report.capacity_source = CapacitySource::kRefused;
  }
}

// Whether `fraction` of the recorded device may be the limit: the process held no more, every
// refusal follows from it, and the rules explain no event less.
bool explainsAsWell(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                    replay::VerifyOptions options, WhatIf& report, double fraction,
                    uint64_t device_bytes) {
  double cap_bytes = std::min(fraction, 1.0) * static_cast<double>(device_bytes);
  if (cap_bytes < static_cast<double>(report.recorded_peak_bytes)) return false;
  options.settings.fraction = fraction;
  options.settings.limit_bytes.reset();
  options.capacity_bytes = device_bytes;
  auto other = replay::verify(analysed.trace, device.device, options);
  if (other.refused_as_recorded > 0 || replay::explainsMore(report.verified, other)) return false;
  report.verified = std::move(other);
  report.limit_bytes.reset();
  report.limit_most_bytes.reset();
  return true;
}

// The fraction is of a device of unknown size: of the least one that explains the limit.
void placeFraction(WhatIf& report, double fraction, uint64_t had_bytes, uint64_t ceiling_bytes,
                   std::optional<uint64_t> refused_at_bytes) {
  auto device_bytes = leastDeviceBytes(had_bytes, fraction, ceiling_bytes);
  // If that allows what was refused, the limit was something else.
  if (!device_bytes || fraction * static_cast<double>(*device_bytes) >=
                           static_cast<double>(refused_at_bytes.value_or(UINT64_MAX)))
    return;
  report.device_bytes = device_bytes;
  report.limit_bytes.reset();
  report.limit_most_bytes.reset();
  report.verified.settings.limit_bytes.reset();
}

// The device of the recording is known. `ceiling`: what an out-of-memory event shows; less, if
// others held a part.
void onKnownDevice(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                   replay::VerifyOptions& options, WhatIf& report, std::optional<double> fraction,
                   uint64_t device_bytes, std::optional<uint64_t> ceiling) {
  report.capacity_bytes = std::min(device_bytes, ceiling.value_or(UINT64_MAX));
  report.capacity_source = CapacitySource::kRecorded;
  if (*report.capacity_bytes < device_bytes) report.device_bytes = device_bytes;
  options.capacity_bytes = device_bytes + report.unmapped_bytes;
  options.settings.fraction = fraction;
  report.verified = replay::verify(analysed.trace, device.device, options);
  if (!fraction) findLimit(analysed, device, options, report);
}

// Only the trace shows what the device gave.
void onUnknownDevice(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                     replay::VerifyOptions& options, WhatIf& report, std::optional<double> fraction,
                     std::optional<uint64_t> ceiling) {
  if (ceiling) {
    report.capacity_bytes = ceiling;
    report.capacity_source = CapacitySource::kOutOfMemory;
  }
  report.verified = replay::verify(analysed.trace, device.device, options);
  findLimit(analysed, device, options, report);
  report.verified.settings.fraction = fraction;
  bool is_limit = fraction && *fraction > 0 && *fraction < 1;
  if (is_limit && (report.limit_bytes || report.capacity_bytes))
    placeFraction(report, *fraction, report.limit_bytes.value_or(mostReserved(device)),
                  ceiling.value_or(0), report.verified.refused_at_bytes);
}

bool mayBeUnmapped(const model::Trace& trace, const model::Device& device) {
  for (uint64_t row = device.segment_begin; row < device.segment_end; ++row)
    if (mayHaveOwnAllocator(trace, trace.segments.pool[row])) return true;
  return false;
}

}  // namespace

WhatIf provenOn(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                const WhatIfWish& wish) {
  WhatIf report;
  report.recorded_peak_bytes = mostReserved(device);
  const model::Events& events = analysed.trace.events;
  for (size_t row = device.device.event_begin; row < device.device.event_end; ++row)
    report.recorded_ooms += events.action[row] == model::Action::kOom;
  report.may_be_unmapped = mayBeUnmapped(analysed.trace, device.device);
  replay::VerifyOptions options;
  options.settings = replay::settingsOf(analysed.trace);
  // If no file contains the size of the device, the effect of its fraction is inferred like an
  // unrecorded limit.
  std::optional<double> conf_fraction = std::exchange(options.settings.fraction, std::nullopt);
  std::optional<double> fraction = wish.recorded_fraction ? wish.recorded_fraction : conf_fraction;
  report.fraction = report.recorded_fraction = wish.recorded_fraction;
  report.recorded_capacity_bytes = wish.recorded_capacity_bytes;
  auto ceiling = ceilingOf(analysed, device);
  auto recorded_bytes = wish.is_own_capacity ? wish.capacity_bytes : wish.recorded_capacity_bytes;
  if (report.may_be_unmapped && recorded_bytes && ceiling && *ceiling > *recorded_bytes)
    report.unmapped_bytes = *ceiling - *recorded_bytes;
  if (wish.recorded_capacity_bytes) {
    onKnownDevice(analysed, device, options, report, fraction, *wish.recorded_capacity_bytes,
                  ceiling);
  } else {
    onUnknownDevice(analysed, device, options, report, fraction, ceiling);
  }
  if (!wish.capacity_bytes && !wish.fraction) return report;
  if (wish.capacity_bytes && wish.fraction && !wish.recorded_capacity_bytes &&
      !wish.recorded_fraction)
    (void)explainsAsWell(analysed, device, options, report, *wish.fraction, *wish.capacity_bytes);
  // A fraction alone is of the recorded device.
  if (wish.capacity_bytes) {
    report.capacity_bytes = wish.capacity_bytes;
    report.device_bytes.reset();
  }
  report.capacity_source = CapacitySource::kGiven;
  report.fraction = wish.fraction;
  replay::Settings& settings = report.verified.settings;
  settings.fraction = wish.fraction ? wish.fraction : conf_fraction;
  if (wish.fraction || wish.recorded_fraction) {
    settings.limit_bytes.reset();
  } else if (report.limit_bytes) {
    settings.limit_bytes = report.capacity_bytes;
  }
  return report;
}

}  // namespace tidegauge::analysis
