// RecordedTables: the tables of a recording in memory, checked: every id refers to a row, every
// number is in range.
//
//   file ──► functions, processes, frames, stacks, losses, and per process its calls in order, its
//            launches and copies
//
//   TablesReader reader;
//   reader.read(file, …)      everything
//   reader.read(file, …)      later: calls, stacks, launches and copies that are new, and the other
//                             tables again
//
// Cost: 88 bytes per call, 28 per frame, 4 per frame of a stack; a later read O(new rows + frames).
// Rows that contradict the rest of the file are counted as issues and skipped; such a recording is
// not continued. Format: docs/formats/recording.md.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/string_pool.h"
#include "model/issues.h"
#include "model/memory_call.h"
#include "model/recorded_work.h"
#include "readers/recording/file/sqlite_file.h"
#include "readers/recording/tables/call_row.h"

namespace tidegauge::readers::recording {

struct RecordedProcess {
  int64_t id = 0;
  int64_t pid = 0;
  std::string name;
  // By end_ns, as countAtItsStart() moves it. Who has no more use for the first ones removes them.
  std::vector<model::MemoryCall> calls;
  model::RecordedWork work{};  // without its run
  size_t carried = 0;          // the first calls, live before this part began
  uint32_t longest_ns = 0;     // the most of longer_ns of its calls
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

// Calls of earlier reads come first, so of equal times the earlier row does.
void sortCalls(RecordedProcess& process);

class InterpreterFold;
struct KeptWork;

class TablesReader {
 public:
  TablesReader();
  ~TablesReader();

  // Hears of calls while they are read, and may move them out. False: stop.
  using TakeCalls =
      std::function<bool(const model::RecordedRun& run, std::vector<RecordedProcess>& processes)>;
  // Only in the first read, and only without single launches, whose stacks are numbered by time.
  void takeWhileReading(TakeCalls take, uint64_t rows_at_once) {
    take_calls_ = std::move(take);
    rows_at_once_ = rows_at_once;
  }

  // `is_abandoned`: the file has a journal, and nobody writes it. False: this is not what was read
  // before and more of the same, so a new reader must read all of it. The first time never.
  base::Result<bool> read(SqliteFile& file, const Progress& progress, bool is_abandoned);
  RecordedTables& tables() { return tables_; }
  bool wasRead() const { return was_read_; }

 private:
  base::Status checkCalls(SqliteFile& file);
  void beginRead();
  bool isSameSoFar(SqliteFile& file);
  void noteCut(SqliteFile& file);
  bool takeFunctions();
  bool readFrames(SqliteFile& file);
  void readStacks(SqliteFile& file);
  void addUpLosses();
  base::Status readCalls(SqliteFile& file, const Progress& progress);
  void takeCall(Row& row);
  RecordedProcess* processOf(int64_t id, bool of_call);
  void nameProcess(RecordedProcess& process);
  void badRow(const char* table);
  void oddRow(const char* table);
  void readAll(SqliteFile& file, const char* table, std::initializer_list<std::string_view> columns,
               const char* sql, const std::function<bool(Row&)>& visit);
  std::string_view textOf(base::StringId id) const { return run_.strings.text(id); }

  RecordedTables tables_;
  model::RecordedRun run_;
  Functions functions_;
  std::unique_ptr<InterpreterFold> folding_;
  std::unique_ptr<KeptWork> kept_work_;
  int64_t carried_calls_ = 0;                        // number of carried calls, which come first
  boost::unordered_flat_map<int64_t, size_t> rows_;  // of processes
  size_t with_calls_ = 0;                            // processes
  TakeCalls take_calls_;
  uint64_t rows_at_once_ = 0;
  bool was_stopped_ = false;
  bool was_read_ = false;
  bool continues_ = true;  // nothing was odd: later rows can be added to what was read
  std::vector<int64_t> frame_ids_;
  int64_t last_stack_ = -1, last_call_ = -1;  // ids
  CallRow last_row_;                          // of the last call
};

}  // namespace tidegauge::readers::recording
