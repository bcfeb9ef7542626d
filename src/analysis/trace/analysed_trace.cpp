#include "analysis/trace/analysed_trace.h"

#include <optional>

#include "analysis/trace/clean_up.h"
#include "base/threads/parallel.h"

namespace tidegauge::analysis {

// What reads the events and rows, without each other's results.
struct DeviceAnalysis::Parts {
  std::optional<TotalsIndex> totals;
  std::optional<LiveIndex> live;
  std::optional<TimeAxis> time;
  Step clean_up_step = 0;
};

DeviceAnalysis::Parts DeviceAnalysis::partsOf(const model::Trace& trace,
                                              const model::Device& device) {
  Parts parts;
  base::together(
      device.steps() >= kLongSteps, [&] { parts.totals.emplace(trace, device); },
      [&] {
        parts.live.emplace(trace, device);
        parts.time.emplace(trace, device);
        parts.clean_up_step = cleanUpStep(trace, device);
      });
  return parts;
}

DeviceAnalysis::DeviceAnalysis(const model::Trace& trace, const model::Device& of_device)
    : DeviceAnalysis(trace, of_device, partsOf(trace, of_device)) {}

DeviceAnalysis::DeviceAnalysis(const model::Trace& trace, const model::Device& of_device,
                               Parts&& parts)
    : device(of_device),
      totals(std::move(*parts.totals)),
      live(std::move(*parts.live)),
      time(std::move(*parts.time)),
      phases(phasesOf(trace, time)),
      clean_up_step(parts.clean_up_step) {}

DeviceAnalysis::DeviceAnalysis(const model::Trace& trace, const model::Device& of_device,
                               DeviceAnalysis& before, const model::Continuation& continuation)
    : device(of_device),
      totals(trace, of_device, std::move(before.totals), continuation),
      live(trace, of_device, std::move(before.live), continuation),
      time(trace, of_device, std::move(before.time), continuation),
      phases(phasesOf(trace, time)),
      clean_up_step(cleanUpStep(trace, of_device)),
      settled_steps(continuation.steps),
      settled_work(continuation.settled_work) {}

AnalysedTrace::AnalysedTrace(model::Trace&& read, std::shared_ptr<const CategoryRules> rules)
    : AnalysedTrace(std::move(read), std::move(rules), BeforeTrace()) {}

AnalysedTrace::AnalysedTrace(model::Trace&& read, std::shared_ptr<const CategoryRules> rules,
                             BeforeTrace&& before)
    : trace(std::move(read)), labels(trace), names(trace, labels) {
  std::vector<const std::vector<Phase>*> phases;
  for (const model::Device& device : trace.devices) {
    bool continues = devices.empty() && before.analysed && !before.analysed->devices.empty();
    devices.push_back(continues
                          ? std::make_unique<DeviceAnalysis>(
                                trace, device, *before.analysed->devices[0], before.continuation)
                          : std::make_unique<DeviceAnalysis>(trace, device));
    phases.push_back(&devices.back()->phases);
  }
  categories = std::make_unique<const Categories>(trace, std::move(phases), std::move(rules));
}

AnalysedTrace::AnalysedTrace(model::Trace&& read, EventsAlone)
    : trace(std::move(read)),
      labels(trace),
      names(trace, labels),
      categories(std::make_unique<const Categories>(trace, std::vector<const std::vector<Phase>*>(),
                                                    nullptr)) {}

const DeviceAnalysis* AnalysedTrace::findDevice(int32_t ordinal) const {
  for (const auto& device : devices) {
    if (device->device.ordinal == ordinal) return device.get();
  }
  return nullptr;
}

}  // namespace tidegauge::analysis
