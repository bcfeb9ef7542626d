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
// If it gets its traces again, two of each process take turns, and a reading appends what is new
// to the one that nobody reads any more (trace_book.h):
//
//   a = read()   b = read()   takeBack(a)   c = read()   takeBack(b) …
//
// Cost: as openRecording(); a later reading 2 µs per new call. A trace that is not continued costs
// 0.2 µs per old event, too (docs/performance.md). Memory between readings: 64 bytes per row of an
// event.
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
#include "readers/recording/trace_book.h"

namespace tidegauge::readers::recording {

class GrowingRecording {
 public:
  struct Wanted {
    bool is_followed = false;       // keep what the next reading needs
    bool driver_memory = false;     // also fills RecordedWork::driver; not if it is followed
    bool takes_back = false;        // takeBack() will be called; only if it is followed
    uint64_t rows_at_once = 65536;  // that are read before their calls are taken
  };
  GrowingRecording(std::string path, Wanted wanted);
  ~GrowingRecording();

  base::Result<std::vector<model::Trace>> read(const Progress& progress = {});
  // A trace of an earlier reading that nobody reads any more: the next reading may continue it.
  void takeBack(model::Trace&& trace);
  // A trace of an earlier reading that is still read, and stays as it is until the next reading
  // ends: that one copies what is settled, unless it has a trace that nobody reads.
  void lend(const model::Trace& trace) { lent_.push_back(&trace); }
  // What of a trace of the last reading is as in the one that it continues; null: nothing.
  const model::Continuation* continuationOf(const model::Trace& trace) const;
  // How many of the readings began at the first row.
  uint64_t readingsFromTheBeginning() const { return from_the_beginning_; }
  // How many traces were continued, so far.
  uint64_t continuedTraces() const { return continued_traces_; }

 private:
  // The traces of a process, the newest last.
  struct Kept {
    std::vector<std::unique_ptr<TraceBook>> books;
    unsigned failures = 0;  // readings whose lives could not be continued
    // What the books say is settled is not what those said that are gone.
    void forgetSettledWork();
  };
  using Traces = std::optional<std::vector<model::Trace>>;
  void forget();
  // Absent: what was kept does not fit what is there.
  base::Result<Traces> readMore(OpenedFile& opened, const Progress& progress);
  base::Result<bool> readTables(OpenedFile& opened, const Progress& progress);
  bool takeCalls();
  model::Trace traceOf(size_t process, CallBook& book, const OpenedFile& opened);
  TraceBook* keptFor(size_t process, CallBook& book);
  std::unique_ptr<TraceBook> copyOfLent(const std::vector<std::unique_ptr<TraceBook>>& books) const;

  std::string path_;
  Wanted wanted_;
  std::shared_ptr<const HeldFile> of_;  // the file that was read; null: none
  std::unique_ptr<TablesReader> tables_;
  std::vector<std::unique_ptr<CallBook>> books_;  // one per process with calls
  std::vector<const model::Trace*> lent_;
  std::vector<Kept> kept_;  // by process, as books_
  uint64_t from_the_beginning_ = 0, continued_traces_ = 0;
  bool takes_while_reading_ = true;
};

}  // namespace tidegauge::readers::recording
