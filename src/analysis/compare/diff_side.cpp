#include "analysis/compare/diff_side.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "analysis/oom/oom.h"
#include "analysis/step_range.h"
#include "analysis/summary.h"
#include "base/format.h"

namespace tidegauge::analysis {
namespace {

base::Error unusable(std::string what, std::string hint) {
  return {base::ErrorKind::kUsage, std::move(what), {}, std::move(hint)};
}

constexpr const char* kPlaces =
    "Write peak, end, oom, phase:NAME, phase:NAME#2, step:3101 or time:2.5s.";

bool isNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// "2.5s", "350ms": a digit first, a unit of time last.
bool isTime(const std::string& text) {
  return !text.empty() && text[0] >= '0' && text[0] <= '9' && text.back() == 's';
}

struct Found {
  Step step = 0;
  std::string at;
  std::vector<std::string> notes{};
  bool at_start = false;
};

base::Result<Found> worstOom(const AnalysedTrace& analysed, const DeviceAnalysis& device) {
  std::vector<OomReport> ooms = oomsOf(analysed, device, 0);
  if (ooms.empty()) {
    return unusable(fmt::format("{} did not run out of memory", deviceLabel(device.device)),
                    "Compare at peak or end, or choose a device that did.");
  }
  return Found{ooms[worstOf(ooms)].step, "the out-of-memory event"};
}

base::Result<Found> inPhase(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                            const std::string& name) {
  if (name.empty()) return unusable("phase: needs the name of a phase", kPlaces);
  // A bare number would be read as a step, so a name gets an occurrence.
  std::string wanted = isNumber(name) || isTime(name) ? name + "#1" : name;
  TG_ASSIGN_OR_RETURN(StepRange range, stepRange(analysed, device, wanted, wanted));
  // The state before its first event counts, too.
  Peak peak = peaksOver(device.totals, range.first, range.last).active;
  return Found{peak.step, fmt::format("the peak of {}", name), std::move(range.notes),
               peak.at_start};
}

base::Result<Found> place(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                          const std::string& text) {
  Step steps = device.totals.steps();
  if (text == "peak" && !hasOnlyState(analysed.trace, device.device)) {
    Peak peak = device.totals.peakActive();
    return Found{peak.step, "the peak", {}, peak.at_start};
  }
  if (text == "end" || text == "peak") return Found{steps == 0 ? 0 : steps - 1, "the end"};
  if (text == "oom") return worstOom(analysed, device);
  if (text.starts_with("phase:")) return inPhase(analysed, device, text.substr(6));
  bool step = text.starts_with("step:") ? isNumber(text.substr(5)) : isNumber(text);
  bool time = text.starts_with("time:") ? isTime(text.substr(5)) : isTime(text);
  if (!step && !time)
    return unusable(fmt::format("“{}” is not a point that diff knows", text), kPlaces);
  std::string value = text.substr(text.find(':') + 1);
  TG_ASSIGN_OR_RETURN(StepRange range, stepRange(analysed, device, "", value));
  return Found{range.last, step ? fmt::format("step {}", base::withCommas(range.last)) : value};
}

}  // namespace

base::Result<std::vector<const DeviceAnalysis*>> diffDevices(const AnalysedTrace& analysed,
                                                             std::optional<int32_t> ordinal) {
  std::vector<const DeviceAnalysis*> devices;
  std::vector<int32_t> ordinals;
  for (const auto& device : analysed.devices) {
    ordinals.push_back(device->device.ordinal);
    bool gpu = device->device.kind == model::DeviceKind::kGpu;
    bool meant = ordinal ? device->device.ordinal == *ordinal : gpu;
    if (meant) devices.push_back(device.get());
  }
  if (devices.empty() && !ordinal && analysed.devices.size() == 1) {  // only pinned host memory
    devices.push_back(analysed.devices.front().get());
  }
  if (!devices.empty()) return devices;
  if (ordinals.empty()) {
    return unusable("the file has no device", "It has no segments and no events.");
  }
  return unusable(ordinal ? fmt::format("there is no device {}", *ordinal) : "there is no GPU",
                  fmt::format("The file has: {}.", fmt::join(ordinals, ", ")));
}

base::Result<DiffSide> diffSide(const AnalysedTrace& analysed,
                                const std::vector<const DeviceAnalysis*>& devices,
                                const std::string& text) {
  DiffSide side;
  side.analysed = &analysed;
  for (const DeviceAnalysis* device : devices) {
    TG_ASSIGN_OR_RETURN(Found found, place(analysed, *device, text));
    DiffPoint point{device, found.step, found.at_start};
    Totals totals = device->totals.at(point.place());
    side.totals.requested_bytes += totals.requested_bytes;
    side.totals.active_bytes += totals.active_bytes;
    side.totals.allocated_bytes += totals.allocated_bytes;
    side.totals.reserved_bytes += totals.reserved_bytes;
    side.points.push_back(point);
    side.at = device->totals.steps() == 0 ? "the end" : found.at;
    std::vector<uint32_t> live = liveAt(*device, point.place());
    side.rows.insert(side.rows.end(), live.begin(), live.end());
    for (std::string& note : found.notes) side.notes.push_back(std::move(note));
  }
  return side;
}

}  // namespace tidegauge::analysis
