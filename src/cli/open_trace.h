// Opens the files named on the command line: every FILE ("-" = standard input) becomes one or more
// traces, read, joined and indexed, with a progress bar on stderr for work over half a second. A
// recording becomes one trace per process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "base/result.h"
#include "readers/recording/file/growth.h"
#include "readers/recording/growing_recording.h"
#include "readers/torch/columns/event_chunk.h"

namespace tidegauge::cli {

// Exit code: a file could not be read, or only in part.
inline constexpr int kNotRead = 3;

using Traces = std::vector<std::unique_ptr<analysis::AnalysedTrace>>;

struct FailedRead {
  std::string path;
  base::Error error;  // without the path
};

// Its traces are `traces[begin, end)`.
struct OpenedRecording {
  std::string path;
  readers::recording::Stamp stamp;  // before it was read
  double read_s = 0;                // computing time
  size_t begin = 0, end = 0;
  // What can read on, if that was asked for and it is still written; else null.
  std::shared_ptr<readers::recording::GrowingRecording> reader{};
};

struct Opened {
  Traces traces;
  std::vector<OpenedRecording> recordings;
  std::vector<FailedRead> failed;
  // Of the first file that could not be read completely. The readable files are opened all the
  // same.
  int exit_code = 0;
};
// Hears what is read, in the thread that reads.
class OpeningListener {
 public:
  virtual ~OpeningListener() = default;
  virtual void readFile(const std::string& path) = 0;  // the next one
  virtual void readBytes(uint64_t done, uint64_t total) = 0;
  // Has it something to print? Then print() is called, while there is no progress bar.
  virtual bool wantsToPrint() = 0;
  virtual void print() = 0;
  virtual void readEvents(const readers::torch::EventChunk& chunk) = 0;
  virtual void forgetEvents() = 0;  // of this file: it is read anew
};

// What of a file is read.
struct OpenOptions {
  // For what memory is for; null: the built-in ones.
  std::shared_ptr<const analysis::CategoryRules> rules{};
  bool driver_memory = false;  // also that of recordings (RecordedWork::driver)
  bool lives = true;           // false: of snapshots events alone (analysis::EventsAlone)
  bool follows = false;        // recordings are read on later, while they grow
  // What is read, while it is read. May be null.
  OpeningListener* listener = nullptr;
};

// Unreadable files and damaged recordings are reported on standard error, one line each.
Opened openTraces(const std::vector<std::string>& paths, const OpenOptions& options = {});

// "tidegauge: FILE: what (at byte N). hint" on stderr; returns the exit code for the kind of error.
int reportError(const base::Error& error);
// "the pickle ends inside a string (at byte 12)"
std::string whatAndWhere(const base::Error& error);

}  // namespace tidegauge::cli
