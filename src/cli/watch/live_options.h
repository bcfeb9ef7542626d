// The options of `monitor` and `top`. In a build without the recorder both commands report that
// (record_missing.cpp).
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace tidegauge::cli {

// Nothing named: every process of the machine.
struct LiveTargets {
  std::vector<uint32_t> pids;
  bool all = false;
  std::string name_glob;
  std::string cgroup;
  bool no_framework = false;
};
void addTargetOptions(CLI::App& command, LiveTargets& targets);
// The exit code of a wrong combination, or 0.
int checkTargets(const LiveTargets& targets);

struct MonitorOptions {
  LiveTargets targets;
  std::string listen = "127.0.0.1:9400";
  std::string otlp;  // empty: nothing is pushed
  double otlp_every_s = 10;
  std::string metrics_token;       // file with the token that /metrics asks for; empty: none
  bool no_process_labels = false;  // metrics of the machine, not of its processes
  std::string stacks = "user";
  // PIDs, or one of "all-watched", "comm:NAME", "cgroup:PATH"; empty: no working sets.
  std::vector<std::string> wss;
  double wss_window_s = 0.1, wss_every_s = 60, wss_max_stall_ms = 5;
};
int runMonitor(const MonitorOptions& options);

struct TopOptions {
  LiveTargets targets;
  bool once = false;
  bool json = false;
  double every_s = 1;
  std::string sort = "live";
  std::string filter;
};
int runTop(const TopOptions& options);

}  // namespace tidegauge::cli
