// RecordedTables: the tables of a recording in memory, checked: every id refers to a row, every
// number is in range.
//
//   file ──► functions, processes, frames, stacks, losses, and per process its calls in order, its
//            launches and copies
//
// Cost: 88 bytes per call, 28 per frame, 4 per frame of a stack. Rows that contradict the rest of
// the file are counted as issues and skipped. Format: docs/formats/recording.md.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/string_pool.h"
#include "model/issues.h"
#include "model/memory_call.h"
#include "model/recorded_work.h"
#include "readers/recording/file/sqlite_file.h"

namespace tidegauge::readers::recording {

struct RecordedProcess {
  int64_t id = 0;
  int64_t pid = 0;
  std::string name;
  std::vector<model::MemoryCall> calls;  // by end_ns
  model::RecordedWork work{};            // without its run
  size_t carried = 0;                    // the first calls, live before this part began
};

struct RecordedFrame {
  base::StringId function;  // invalid: no name, only a place in a module
  base::StringId file;
  base::StringId module;
  uint64_t line = 0;
  uint64_t offset = 0;
};

struct RecordedTables {
  base::StringPool texts;
  std::vector<RecordedFrame> frames;
  boost::unordered_flat_map<int64_t, uint32_t> frame_rows;  // by frame_id
  std::vector<uint64_t> stack_begin{0};
  std::vector<uint32_t> stack_frames;                       // rows of frames, innermost first
  boost::unordered_flat_map<int64_t, uint32_t> stack_rows;  // by stack_id
  // Processes with memory calls, by first call; then those that only launched or copied.
  std::vector<RecordedProcess> processes;
  std::shared_ptr<const model::RecordedRun> run;
  std::vector<std::pair<std::string, uint64_t>> losses;  // by reason
  std::vector<std::string> functions;                    // names, by the function of a call
  model::Issues issues;
};

using Progress = std::function<void(uint64_t done, uint64_t total)>;

// `is_abandoned`: the file has a journal, and nobody writes it.
base::Result<RecordedTables> readTables(SqliteFile& file, const Progress& progress,
                                        bool is_abandoned);

}  // namespace tidegauge::readers::recording
