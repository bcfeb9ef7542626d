// The snapshot that a benchmark of a file is about, and its device with the most events.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "analysis/trace/analysed_trace.h"
#include "readers/torch/unpack/open_snapshots.h"

namespace tidegauge {

// nullptr without a file: the benchmarks report that and measure nothing.
inline const analysis::AnalysedTrace* opened() {
  static const std::unique_ptr<analysis::AnalysedTrace> kTrace =
      []() -> std::unique_ptr<analysis::AnalysedTrace> {
    std::string path;
    if (const char* file = std::getenv("TIDEGAUGE_BENCH_FILE")) {
      path = file;
    } else if (const char* data = std::getenv("TIDEGAUGE_BENCH_DATA")) {
      path = std::string(data) + "/1g.pickle";  // made by ./dev bench
    }
    if (path.empty()) return nullptr;
    auto read = readers::torch::openSnapshots(path, {});
    if (!read.ok() || read.value().empty()) return nullptr;
    return std::make_unique<analysis::AnalysedTrace>(std::move(read.value().front()));
  }();
  return kTrace.get();
}

inline const analysis::DeviceAnalysis* busiest(const analysis::AnalysedTrace& analysed) {
  const analysis::DeviceAnalysis* best = nullptr;
  for (const auto& device : analysed.devices) {
    if (best == nullptr || device->totals.steps() > best->totals.steps()) best = device.get();
  }
  return best;
}

}  // namespace tidegauge
