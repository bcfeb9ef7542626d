// A file that Python opened: its traces, and what each can be asked.
//
//   openFile("oom.pickle.zst", {})  →  one OpenTrace
//   openFile("run.sqlite", {})      →  one per process
//
// Nothing changes after it is opened, so any number of threads may ask.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "analysis/trace/whole_recording.h"
#include "base/result.h"
#include "query/database.h"
#include "readers/torch/unpack/open_snapshots.h"

namespace tidegauge::python {

struct OpenTrace {
  std::unique_ptr<analysis::AnalysedTrace> analysed;
  std::unique_ptr<query::Database> database;
};

struct OpenFile {
  std::vector<OpenTrace> traces;      // at least one
  std::vector<std::string> warnings;  // what of the file was not read, or may not fit
};
using FileResult = base::Result<std::shared_ptr<OpenFile>>;

struct OpenWish {
  std::string categories;  // YAML, as `--categories` reads it; empty: the built-in rules
  std::stop_token stop{};
};

// Errors: kLimit "it was cancelled" after a stop.
FileResult openFile(const std::string& path, const OpenWish& wish);
FileResult openBytes(std::span<const uint8_t> bytes, const std::string& name, const OpenWish& wish);
FileResult openObjects(const readers::torch::FeedObjects& feed, const std::string& name,
                       const OpenWish& wish);

}  // namespace tidegauge::python
