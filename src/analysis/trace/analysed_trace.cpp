#include "analysis/trace/analysed_trace.h"

#include "analysis/trace/clean_up.h"

namespace tidegauge::analysis {

DeviceAnalysis::DeviceAnalysis(const model::Trace& trace, const model::Device& of_device)
    : device(of_device),
      totals(trace, of_device),
      live(trace, of_device),
      time(trace, of_device),
      phases(phasesOf(trace, time)),
      clean_up_step(cleanUpStep(trace, of_device)) {}

AnalysedTrace::AnalysedTrace(model::Trace&& read, std::shared_ptr<const CategoryRules> rules)
    : trace(std::move(read)), labels(trace), names(trace, labels) {
  std::vector<const std::vector<Phase>*> phases;
  for (const model::Device& device : trace.devices) {
    devices.push_back(std::make_unique<DeviceAnalysis>(trace, device));
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
