// tidegauge wss [options] PID SECONDS: how many bytes a process really touches in that time.
//
//   tidegauge wss 4711 0.1           one window
//   tidegauge wss -P 10 4711 0.01    windows of 10 ms, 20 ms, 40 ms … 5.12 s
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wss/process/targets.h"

namespace tidegauge::cli {

// When windows begin and end.
struct WssCourse {
  std::string seconds;  // as written: --compat repeats the words
  bool cumulative = false;
  std::string pause, steps;  // empty: not wanted
  uint32_t rolling = 0;      // windows that are reported together; 0: not wanted
  double total_s = 0;        // 0: no limit
};

// How it is measured.
struct WssMethod {
  std::string backend = "auto", sample = "auto";
  double most_stall_ms = 5;
  std::string with;           // a snapshot or a recording; empty: none
  bool exact_window = false;  // it stands still while it is cleared and read
  bool writes = false;        // short for the back-end write
  uint32_t spots = 200;       // of spot
  bool experiment = false;    // of shrink and of resctrl
  bool ways = false;          // of resctrl
  double pressure = 0;        // of shrink: percent of the time to hold; 0: it shrinks to the end
  double most_pressure = 10;  // percent of the time that it may wait for memory
};

// What is printed; text, if none of the four is set.
struct WssForm {
  bool compat = false, json = false, jsonl = false, csv = false;
  bool more_times = false;
  std::string by;  // empty: no list
  size_t top = 20;
  bool heat = false;
  int count() const { return compat + json + jsonl + csv; }
};

struct WssFiles {
  std::string plot;    // a picture; empty: none
  std::string output;  // a file of measurements; empty: none
  bool force = false;
};

struct WssOptions {
  std::vector<std::string> given;  // names of those that were, "--by"
  std::vector<std::string> words;  // as written: processes, then the time
  wss::Targets targets;
  WssCourse course;
  WssMethod method;
  WssForm form;
  WssFiles files;
  bool probe = false, dry_run = false;
};

int runWss(const WssOptions& options);

}  // namespace tidegauge::cli
