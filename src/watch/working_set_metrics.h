// Working sets in the metrics of a monitor: what each watched process touched in its last window.
//
//   tidegauge_wss_referenced_bytes{pid="42",comm="python",pod="3f2a…",window="0.1"}  29360128
//
// src/wss measures; this file has the figures and their names. docs/record/monitoring.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "watch/container_labels.h"

namespace tidegauge::watch {

struct Metric;

struct WorkingSetFigures {
  struct Process {
    uint32_t pid = 0;
    std::string comm;
    uint64_t rss_bytes = 0, referenced_bytes = 0;  // each page once
    uint64_t reclaimed_bytes = 0;                  // touched, and reclaimed before the window ended
    double stall_seconds = 0;                      // upper bound of the wait of its mmap
    double error_bytes = 0;    // of a sample: half of the 95 % interval of referenced_bytes
    bool is_at_least = false;  // referenced_bytes is a lower bound
    ContainerLabels container{};
  };
  std::string window;   // seconds as requested, "0.1"
  std::string backend;  // of the last window; empty: none was measured
  std::vector<Process> processes;
  uint64_t skipped = 0;  // windows not begun: too long a stall, or another measures it
  double cpu_seconds = 0;
};

// Empty, unless a window was measured or skipped.
std::vector<Metric> workingSetMetrics(const WorkingSetFigures& figures);

}  // namespace tidegauge::watch
