// Opens what a user names on the command line: every FILE ("-" = standard input) becomes one or
// more traces, read, joined and indexed, with a progress bar on stderr for work over half a second.
// A recording becomes one per process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "base/result.h"
#include "readers/recording/file/growth.h"

namespace tidegauge::cli {

// Exit code: a file could not be read, or not all of it.
inline constexpr int kNotRead = 3;

using Traces = std::vector<std::unique_ptr<analysis::AnalysedTrace>>;

struct FailedRead {
  std::string path;
  base::Error error;  // without the path
};

// Its traces are `traces[begin]` to before `traces[end]`.
struct OpenedRecording {
  std::string path;
  readers::recording::Stamp stamp;  // before it was read
  double read_s = 0;                // of computing
  size_t begin = 0, end = 0;
};

struct Opened {
  Traces traces;
  std::vector<OpenedRecording> recordings;
  std::vector<FailedRead> failed;
  // Of the first file that could not be read, as a whole or in part: what can be is opened all the
  // same.
  int exit_code = 0;
};
// Files that cannot be read, and damaged recordings, are named on standard error, one line each.
// `rules` for what memory is for; null: the built-in ones. `driver_memory` of recordings, too
// (RecordedWork::driver).
Opened openTraces(const std::vector<std::string>& paths,
                  const std::shared_ptr<const analysis::CategoryRules>& rules = {},
                  bool driver_memory = false);

// "tidegauge: FILE: what (at byte N). hint" on stderr; returns the exit code for the kind of error.
int reportError(const base::Error& error);
// "the pickle ends inside a string (at byte 12)"
std::string whatAndWhere(const base::Error& error);

}  // namespace tidegauge::cli
