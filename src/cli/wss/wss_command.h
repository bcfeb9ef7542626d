// tidegauge wss [options] PID SECONDS: how many bytes a process really touches in that time.
//
//   tidegauge wss 4711 0.1           one window
//   tidegauge wss -P 10 4711 0.01    windows of 10 ms, 20 ms, 40 ms … 5.12 s
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tidegauge::cli {

struct WssOptions {
  std::vector<std::string> given;  // names of those that were, "--by"
  std::vector<std::string> words;  // as written: processes, then the time
  std::vector<int> pids;
  bool children = false;
  std::string comm, cgroup;
  std::string seconds;  // as written: --compat repeats the words
  bool cumulative = false;
  std::string pause, steps;  // empty: not wanted
  double total_s = 0;        // 0: no limit
  bool more_times = false;
  bool compat = false, json = false, jsonl = false, csv = false;
  std::string backend = "auto", sample = "auto";
  double most_stall_ms = 5;
  std::string by;    // empty: no list
  std::string with;  // a snapshot or a recording; empty: none
  size_t top = 20;
  uint32_t rolling = 0;  // windows that are told together; 0: not wanted
  bool heat = false;
  std::string plot;    // a file; empty: none
  std::string output;  // a file of measurements; empty: none
  bool force = false;
  bool probe = false, dry_run = false;
  uint32_t spots = 200;       // of spot
  bool writes = false;        // short for the back-end write
  bool experiment = false;    // of shrink
  double most_pressure = 10;  // percent of the time that it may wait for memory
};

int runWss(const WssOptions& options);

}  // namespace tidegauge::cli
