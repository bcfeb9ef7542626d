// A line of settings, then the bytes of a snapshot → replayed, and replayed under the settings: an
// error with words, or consistent figures. Settings that are parsed are written in the same form.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "check_trace.h"
#include "readers/torch/unpack/open_snapshots.h"
#include "replay/verify.h"
#include "replay/what_if.h"
#include "replay/written_trace.h"

namespace {

using namespace tidegauge;
using fuzz::require;

void checkStats(const replay::Stats& stats) {
  using replay::Quantity;
  for (const replay::StatOfKinds& of : stats.of) {
    require(of.all.peak >= of.all.current && of.all.current == of.small.current + of.large.current);
    require(of.all.peak >= 0);
  }
  require(stats[Quantity::kReservedBytes].all.current >= stats[Quantity::kActiveBytes].all.current);
  require(stats[Quantity::kActiveBytes].all.current >=
          stats[Quantity::kAllocatedBytes].all.current);
}

void check(const model::Trace& trace, const model::Device& device, const replay::Settings& asked) {
  auto verified = replay::verify(trace, device, {replay::settingsOf(trace), {}});
  require(verified.events_exact <= verified.events_checked);
  require(verified.events_checked <= device.steps());
  require(verified.checked_until <= device.steps());
  require(verified.first_divergence.has_value() || verified.divergences == 0);
  for (const replay::Request& request : verified.program.requests)
    require(request.op == replay::Op::kEmptyCache || request.op == replay::Op::kReleasePool ||
            request.name < verified.program.names);
  replay::Tape tape(trace, device);
  replay::WhatIfOptions options;
  options.settings = asked;
  options.capacity_bytes = uint64_t{1} << 33;
  replay::Outcome outcome = replay::whatIf(tape, verified.program, options);
  checkStats(outcome.stats);
  require(outcome.failures.size() == std::min<uint64_t>(outcome.stats.ooms, replay::kMaxFailures));
  model::Trace written = replay::writtenTrace(tape, verified.program, options, "").trace;
  fuzz::checkTrace(written);
  uint64_t reserved_bytes = 0, active_bytes = 0;
  for (uint64_t bytes : written.final_segments.total_bytes) reserved_bytes += bytes;
  for (uint64_t bytes : written.final_segments.active_bytes) active_bytes += bytes;
  using replay::Quantity;
  require(static_cast<int64_t>(reserved_bytes) ==
          outcome.stats[Quantity::kReservedBytes].all.current);
  require(static_cast<int64_t>(active_bytes) == outcome.stats[Quantity::kActiveBytes].all.current);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string_view conf = text.substr(0, text.find('\n'));
  auto settings = replay::parseConf(conf);
  if (!settings.ok()) {
    require(!settings.error().what.empty() && !settings.error().hint.empty());
    return 0;
  }
  auto again = replay::parseConf(replay::confOf(settings.value()));
  require(again.ok() && again.value() == settings.value());
  size_t begin = std::min(size, conf.size() + 1);
  auto opened = readers::torch::openSnapshots({data + begin, size - begin}, "fuzz", {});
  if (!opened.ok()) return 0;
  for (const model::Trace& trace : opened.value())
    for (const model::Device& device : trace.devices)
      if (device.kind == model::DeviceKind::kGpu) check(trace, device, settings.value());
  return 0;
}
