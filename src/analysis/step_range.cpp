#include "analysis/step_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "analysis/summary.h"
#include "analysis/trace/sample_points.h"
#include "base/format.h"

namespace tidegauge::analysis {
namespace {

base::Error unusable(std::string what, std::string hint = {}) {
  return {base::ErrorKind::kUsage, std::move(what), {}, std::move(hint)};
}

// µs of "2.5s", "350ms", "40us"; absent if the text is not a time.
std::optional<double> microsecondsOf(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  auto [unit, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  std::string_view name(unit, static_cast<size_t>(end - unit));
  if (name == "s") return value * 1e6;
  if (name == "ms") return value * 1e3;
  return name == "us" || name == "µs" ? std::optional(value) : std::nullopt;
}

constexpr std::string_view kSnapshot = "snapshot";

// "backward#3" → "backward", 3; 0 if it has no number.
std::pair<std::string_view, size_t> numbered(std::string_view name) {
  size_t at = name.rfind('#');
  size_t number = 0;
  if (at == std::string_view::npos) return {name, 0};
  const char* last = name.data() + name.size();
  auto [end, error] = std::from_chars(name.data() + at + 1, last, number);
  if (end != last || error != std::errc()) number = 0;
  return {name.substr(0, at), number};
}

class Places {
 public:
  Places(const AnalysedTrace& analysed, const DeviceAnalysis& device,
         std::vector<std::string>& notes)
      : analysed_(analysed), device_(device), last_(device.totals.steps() - 1), notes_(notes) {}

  base::Result<Step> find(const std::string& text, bool begin) {
    uint64_t step = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
    if (end == text.data() + text.size() && error != std::errc::invalid_argument) {
      return atStep(error == std::errc() ? step : UINT64_MAX);
    }
    if (std::optional<double> us = microsecondsOf(text)) return atTime(*us, begin);
    return atPhase(text, begin);
  }

 private:
  base::Result<Step> atStep(uint64_t step) const {
    if (step <= last_) return static_cast<Step>(step);
    return unusable(fmt::format("{} has no step {}", deviceLabel(device_.device), step),
                    fmt::format("Its last step is {}.", last_));
  }

  base::Result<Step> atTime(double us, bool begin) const {
    const TimeAxis& time = device_.time;
    if (!time.present()) return unusable("this recording has no times", "Use steps.");
    // Unsigned: in a hostile file, times may differ by more than an int64_t holds.
    uint64_t length_us =
        static_cast<uint64_t>(time.lastUs()) - static_cast<uint64_t>(time.firstUs());
    if (us > static_cast<double>(length_us)) {
      return unusable(
          fmt::format("{} has no events at that time", deviceLabel(device_.device)),
          fmt::format("Its events cover {:.3f} s.", static_cast<double>(length_us) / 1e6));
    }
    uint64_t since_us = std::min(length_us, static_cast<uint64_t>(us));
    auto at_us = static_cast<int64_t>(static_cast<uint64_t>(time.firstUs()) + since_us);
    if (begin) return std::min(time.stepAtOrAfter(at_us), last_);
    return std::max<Step>(time.stepAfter(at_us), 1) - 1;
  }

  base::Result<Step> atPhase(const std::string& name, bool begin) {
    std::vector<const Phase*> found = phasesCalled(name);
    auto [stem, number] = numbered(name);
    size_t pick = 0;
    if (found.empty() && number > 0) {
      found = phasesCalled(stem);
      pick = number - 1;
    } else if (found.size() > 1) {
      notes_.push_back(
          fmt::format("“{}” is the first of {} phases with that name; {}#{} is the last.", name,
                      base::withCommas(found.size()), name, found.size()));
    }
    if (found.empty() && stem == kSnapshot) return atSnapshot(number);
    if (pick < found.size()) return begin ? found[pick]->begin_step : found[pick]->end_step - 1;
    if (!found.empty()) {
      return unusable(fmt::format("{} has no “{}”", deviceLabel(device_.device), name),
                      fmt::format("The last is {}#{}.", stem, found.size()));
    }
    return unusable(fmt::format("{} has no step, time or annotation “{}” with events",
                                deviceLabel(device_.device), name),
                    "Write a step (3101), a time (2.5s, 350ms), the name of an annotation or "
                    "snapshot#2.");
  }

  // An event of its own: a snapshot that the program took while it recorded.
  base::Result<Step> atSnapshot(size_t number) {
    std::vector<Step> steps = snapshotSteps(analysed_.trace, device_.device);
    if (steps.empty()) {
      return unusable(fmt::format("{} has no snapshot event", deviceLabel(device_.device)),
                      "Only snapshots taken while the program records leave one.");
    }
    if (number == 0 && steps.size() > 1) {
      notes_.push_back(fmt::format("“{0}” is the first of {1} snapshots; {0}#{2} is the last.",
                                   kSnapshot, base::withCommas(steps.size()), steps.size()));
    }
    size_t pick = number == 0 ? 0 : number - 1;
    if (pick < steps.size()) return steps[pick];
    return unusable(
        fmt::format("{} has no “{}#{}”", deviceLabel(device_.device), kSnapshot, number),
        fmt::format("The last is {}#{}.", kSnapshot, steps.size()));
  }

  // Phases that contain an event of this device.
  std::vector<const Phase*> phasesCalled(std::string_view name) const {
    const model::Trace& trace = analysed_.trace;
    std::vector<const Phase*> found;
    for (const Phase& phase : device_.phases) {
      if (phase.begin_step >= phase.end_step) continue;
      if (trace.strings.text(trace.annotations.name[phase.annotation]) == name) {
        found.push_back(&phase);
      }
    }
    return found;
  }

  const AnalysedTrace& analysed_;
  const DeviceAnalysis& device_;
  Step last_;
  std::vector<std::string>& notes_;
};

}  // namespace

base::Result<StepRange> stepRange(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                                  const std::string& from, const std::string& to) {
  if (device.totals.steps() == 0) {
    return unusable(fmt::format("{} has no events to choose from", deviceLabel(device.device)));
  }
  StepRange range{0, device.totals.steps() - 1, {}};
  Places places(analysed, device, range.notes);
  if (!from.empty()) {
    TG_ASSIGN_OR_RETURN(range.first, places.find(from, true));
  }
  if (!to.empty()) {
    TG_ASSIGN_OR_RETURN(range.last, places.find(to, false));
  }
  if (from == to && range.notes.size() == 2) range.notes.pop_back();
  if (range.first > range.last) {
    return unusable(fmt::format("the range is empty: it starts at step {} and ends at step {}",
                                base::withCommas(range.first), base::withCommas(range.last)));
  }
  return range;
}

}  // namespace tidegauge::analysis
