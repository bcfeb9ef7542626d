// GrowingRecording: reads a recording, and later what has come since. Each reading equals one from
// the beginning, column by column.
//
//   GrowingRecording recording("run.sqlite", {.is_followed = true});
//   recording.read()   →  traces      all rows
//   recording.read()   →  traces      the rows that are new, and the trace of all of them
//
// It keeps the calls' books (call_book.h), so no row of `calls` is read twice and no call goes
// through the ledger twice, except those of the last second (calls_while_reading.h): one that
// returns late may belong before them. It reads from the beginning where that does not do: another
// file has the name (the next part, a replaced file), rows are damaged or contradict each other, or
// what is new belongs before what was settled.
//
// Cost: as openRecording(); a later reading 2 µs per new call, and per old event what it takes to
// write the trace and to build its lives (docs/performance.md). Memory between readings: 64 bytes
// per row of an event.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/trace.h"
#include "readers/recording/call_book.h"
#include "readers/recording/open_recording.h"
#include "readers/recording/opened_file.h"
#include "readers/recording/tables/recorded_tables.h"

namespace tidegauge::readers::recording {

class GrowingRecording {
 public:
  struct Wanted {
    bool is_followed = false;       // keep what the next reading needs
    bool driver_memory = false;     // also fills RecordedWork::driver; not if it is followed
    uint64_t rows_at_once = 65536;  // that are read before their calls are taken
  };
  GrowingRecording(std::string path, Wanted wanted);
  ~GrowingRecording();

  base::Result<std::vector<model::Trace>> read(const Progress& progress = {});
  // How many of the readings began at the first row.
  uint64_t readingsFromTheBeginning() const { return from_the_beginning_; }

 private:
  using Traces = std::optional<std::vector<model::Trace>>;
  void forget();
  // Absent: what was kept does not fit what is there.
  base::Result<Traces> readMore(OpenedFile& opened, const Progress& progress);
  base::Result<bool> readTables(OpenedFile& opened, const Progress& progress);
  bool takeCalls();

  std::string path_;
  Wanted wanted_;
  std::shared_ptr<const HeldFile> of_;  // the file that was read; null: none
  std::unique_ptr<TablesReader> tables_;
  std::vector<std::unique_ptr<CallBook>> books_;  // one per process with calls
  uint64_t from_the_beginning_ = 0;
  bool takes_while_reading_ = true;
};

}  // namespace tidegauge::readers::recording
