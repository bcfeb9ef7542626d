#include "analysis/what_if/what_if_device.h"

#include <algorithm>
#include <cmath>
#include <utility>

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
    report.limit_bytes = options.settings.limit_bytes = limit->least_bytes;
    report.limit_most_bytes = limit->most_bytes;
    report.verified = replay::verify(analysed.trace, device.device, options);
  } else if (!report.capacity_bytes && report.verified.refused_at_bytes && most_bytes > 0) {
    report.capacity_bytes = most_bytes;
    report.capacity_source = CapacitySource::kRefused;
  }
}

// Whether `fraction` of the recorded device may be the limit: the process held no more, was refused
// no less, and the rules explain no event less.
bool explainsAsWell(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                    replay::VerifyOptions options, WhatIf& report, double fraction,
                    uint64_t device_bytes, std::optional<uint64_t> refused_at_bytes) {
  double cap_bytes = std::min(fraction, 1.0) * static_cast<double>(device_bytes);
  if (cap_bytes < static_cast<double>(report.recorded_peak_bytes) ||
      cap_bytes >= static_cast<double>(refused_at_bytes.value_or(UINT64_MAX)))
    return false;
  options.settings.fraction = fraction;
  options.settings.limit_bytes.reset();
  options.capacity_bytes = device_bytes;
  auto other = replay::verify(analysed.trace, device.device, options);
  if (other.events_exact < report.verified.events_exact) return false;
  report.verified = std::move(other);
  report.limit_bytes.reset();
  report.limit_most_bytes.reset();
  return true;
}

}  // namespace

WhatIf provenOn(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                const WhatIfWish& wish) {
  WhatIf report;
  report.recorded_peak_bytes = mostReserved(device);
  const model::Events& events = analysed.trace.events;
  for (size_t row = device.device.event_begin; row < device.device.event_end; ++row)
    report.recorded_ooms += events.action[row] == model::Action::kOom;
  replay::VerifyOptions options;
  options.settings = replay::settingsOf(analysed.trace);
  // If no file contains the size of the device, the effect of its fraction is inferred like an
  // unrecorded limit.
  std::optional<double> own_fraction = std::exchange(options.settings.fraction, std::nullopt);
  auto ceiling = ceilingOf(analysed, device);
  if (ceiling) {
    report.capacity_bytes = ceiling;
    report.capacity_source = CapacitySource::kOutOfMemory;
  }
  report.verified = replay::verify(analysed.trace, device.device, options);
  std::optional<uint64_t> refused_at_bytes = report.verified.refused_at_bytes;
  findLimit(analysed, device, options, report);
  report.verified.settings.fraction = own_fraction;
  if (own_fraction && *own_fraction > 0 && *own_fraction < 1 &&
      (report.limit_bytes || report.capacity_bytes)) {
    uint64_t had_bytes = report.limit_bytes.value_or(mostReserved(device));
    auto device_bytes = leastDeviceBytes(had_bytes, *own_fraction, ceiling.value_or(0));
    // If that allows what was refused, the limit was something else.
    if (device_bytes && *own_fraction * static_cast<double>(*device_bytes) <
                            static_cast<double>(refused_at_bytes.value_or(UINT64_MAX))) {
      report.device_bytes = device_bytes;
      report.limit_bytes.reset();
      report.limit_most_bytes.reset();
      report.verified.settings.limit_bytes.reset();
    }
  }
  if (!wish.capacity_bytes) return report;
  report.capacity_bytes = wish.capacity_bytes;
  report.capacity_source = CapacitySource::kGiven;
  report.device_bytes.reset();
  report.fraction = wish.fraction;
  if (wish.fraction) {
    (void)explainsAsWell(analysed, device, options, report, *wish.fraction, *wish.capacity_bytes,
                         refused_at_bytes);
    report.verified.settings.fraction = wish.fraction;
    report.verified.settings.limit_bytes.reset();
  } else if (report.limit_bytes) {
    report.verified.settings.limit_bytes = report.capacity_bytes;
  }
  return report;
}

}  // namespace tidegauge::analysis
