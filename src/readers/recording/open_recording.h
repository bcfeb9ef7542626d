// openRecording: turns a recording (an SQLite file of `tidegauge record`) into finished traces, one
// per process that called for memory.
//
//   openRecording("run.tgr", {})  →  trace "pid 41 python", trace "pid 57 python"
//
// Source::format says whether more may follow. A recording can be read while it is written, after a
// kill -9 of its writer, and from read-only media. Cost: reading about 1 µs per call, the ledger
// about 0.5 µs, then model::buildLives. Format: docs/formats/recording.md.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/trace.h"
#include "readers/recording/tables/recorded_tables.h"

namespace tidegauge::readers::recording {

// RecordedWork::process_id of the one trace of a recording without any calls yet.
inline constexpr int64_t kNoProcess = -1;

struct ReadOptions {
  Progress progress;
  bool driver_memory = false;  // also fills RecordedWork::driver
};

// Decided by the first 16 bytes, never by the name. True for any SQLite file; openRecording reports
// those of other programs.
bool isSqliteFile(const std::string& path);

base::Result<std::vector<model::Trace>> openRecording(const std::string& path,
                                                      const ReadOptions& options);

}  // namespace tidegauge::readers::recording
