#include "readers/recording/tables/recorded_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/ledger/contexts.h"
#include "readers/recording/tables/call_row.h"
#include "readers/recording/tables/fold_interpreter.h"
#include "readers/recording/tables/work_tables.h"

namespace tidegauge::readers::recording {
namespace {

using model::IssueKind;
using model::MemoryCall;

constexpr size_t kMaxProcesses = 4096;
constexpr size_t kMaxDepth = 1024;
constexpr size_t kMaxReasons = 100;

class TableReader {
 public:
  TableReader(SqliteFile& file, const Progress& progress) : file_(file), progress_(progress) {}

  base::Result<RecordedTables> run(bool is_abandoned) {
    TG_RETURN_IF_ERROR(checkCalls());
    TG_ASSIGN_OR_RETURN(run_, readRun(file_, tables_.issues));
    noteCut();
    takeFunctions();
    readFrames();
    readStacks();
    foldInterpreter(tables_);
    addUpLosses();
    TG_RETURN_IF_ERROR(readCalls());
    TG_RETURN_IF_ERROR(readWork(file_, run_, tables_.issues, [&](int64_t process_id) {
      RecordedProcess* process = processOf(process_id);
      return process == nullptr ? nullptr : &process->work;
    }));
    run_.was_killed = is_abandoned && !run_.ended_ns;
    for (const auto& [process_id, place] : rows_) run_.traced.push_back(process_id);
    std::sort(run_.traced.begin(), run_.traced.end());
    tables_.run = std::make_shared<const model::RecordedRun>(std::move(run_));
    return std::move(tables_);
  }

 private:
  // Memory figures need these two; any other missing table only affects its own figures.
  base::Status checkCalls() {
    TG_RETURN_IF_ERROR(
        file_.require("functions", {"function_id", "name", "plane", "verb", "kind"}));
    return file_.require("calls", {"call_id", "start_ns", "end_ns", "process_id", "thread",
                                   "function_id", "address", "size_bytes", "handle", "stream",
                                   "offset", "device", "code", "stack_id", "inner", "in_runtime"});
  }

  void noteCut() {
    run_.is_cut_short = file_.isCutShort();
    if (run_.is_cut_short)
      tables_.issues.add({.kind = IssueKind::kIncompleteRecording,
                          .detail = "the file is cut short: its last page is not whole"});
  }

  // Rows before the damage are valid.
  void read(const char* table, std::initializer_list<std::string_view> columns, const char* sql,
            const std::function<bool(Row&)>& visit) {
    base::Status status = file_.require(table, columns);
    if (status.ok()) status = file_.forEachRow(sql, visit);
    if (!status.ok()) noteUnread(table, status.error().what, run_, tables_.issues);
  }

  void badRow(const char* table) { notePassedOver(table, run_, tables_.issues); }

  std::string_view textOf(base::StringId id) const { return run_.strings.text(id); }

  void takeFunctions() {
    const model::RecordedFunctions& rows = run_.functions;
    for (size_t i = 0; i < rows.size(); ++i) {
      int64_t id = rows.function_id[i];
      auto plane = model::planeNamed(textOf(rows.plane[i]));
      if (plane && !rows.verb[i].valid()) continue;  // a copy or launch
      auto verb = model::verbNamed(textOf(rows.verb[i]));
      auto kind = model::memoryKindNamed(textOf(rows.kind[i]));
      bool possible = id >= 0 && id <= UINT16_MAX && !functions_.contains(id);
      if (!plane || !verb || !kind || !possible) {
        badRow("functions");
        continue;
      }
      functions_[id] = {static_cast<uint16_t>(tables_.functions.size()), *plane, *verb, *kind};
      tables_.functions.emplace_back(textOf(rows.name[i]));
    }
  }

  void readFrames() {
    boost::unordered_flat_map<int64_t, base::StringId> modules;
    read("modules", {"module_id", "path"}, "SELECT module_id, path FROM modules NOT INDEXED",
         [&](Row& row) {
           int64_t id = row.integer(0);
           base::StringId path = tables_.texts.intern(row.text(1));
           if (row.isBad()) {
             badRow("modules");
           } else {
             modules[id] = path;
           }
           return true;
         });
    read("frames", {"frame_id", "module_id", "offset", "function", "file", "line"},
         "SELECT frame_id, module_id, \"offset\", function, file, line FROM frames NOT INDEXED",
         [&](Row& row) {
           int64_t id = row.integer(0);
           RecordedFrame frame;
           auto module = row.maybeInteger(1);
           frame.offset = static_cast<uint64_t>(row.maybeInteger(2).value_or(0));
           if (std::string text = row.text(3); !text.empty()) {
             frame.function = tables_.texts.intern(text);
           }
           if (std::string text = row.text(4); !text.empty()) {
             frame.file = tables_.texts.intern(text);
           }
           frame.line =
               static_cast<uint64_t>(std::max<int64_t>(0, row.maybeInteger(5).value_or(0)));
           auto path = module ? modules.find(*module) : modules.end();
           if (path != modules.end()) frame.module = path->second;
           bool lost_module = module && path == modules.end();
           if (row.isBad() || tables_.frame_rows.contains(id)) {
             badRow("frames");
             return true;
           }
           if (lost_module) badRow("frames.module_id");
           tables_.frame_rows[id] = static_cast<uint32_t>(tables_.frames.size());
           tables_.frames.push_back(frame);
           return true;
         });
  }

  void readStacks() {
    std::optional<int64_t> current;
    auto close = [&] {
      if (current) tables_.stack_begin.push_back(tables_.stack_frames.size());
    };
    read("stack_frames", {"stack_id", "place", "frame_id"},
         "SELECT stack_id, frame_id FROM stack_frames NOT INDEXED ORDER BY stack_id, place",
         [&](Row& row) {
           int64_t stack = row.integer(0, 0, kMax32 - 1);
           auto frame = tables_.frame_rows.find(row.integer(1));
           if (row.isBad() || frame == tables_.frame_rows.end()) {
             badRow("stack_frames");
             return true;
           }
           if (stack != current) {
             if (tables_.stack_rows.contains(stack)) {
               badRow("stack_frames");
               return true;
             }
             close();
             current = stack;
             tables_.stack_rows[stack] = static_cast<uint32_t>(tables_.stack_begin.size() - 1);
           }
           if (tables_.stack_frames.size() - tables_.stack_begin.back() < kMaxDepth) {
             tables_.stack_frames.push_back(frame->second);
           } else {
             tables_.issues.add({.kind = IssueKind::kCutText, .detail = "stack"});
           }
           return true;
         });
    close();
  }

  void addUpLosses() {
    std::map<std::string, uint64_t, std::less<>> sums;
    const model::RecordedLosses& rows = run_.losses;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows.count[i] == 0) continue;
      std::string_view reason = textOf(rows.reason[i]);
      if (sums.size() >= kMaxReasons && !sums.contains(reason)) reason = model::Issues::kRest;
      uint64_t& sum = sums.try_emplace(std::string(reason), 0).first->second;
      sum = std::min<uint64_t>(sum + static_cast<uint64_t>(rows.count[i]), INT64_MAX);
    }
    for (auto& [reason, count] : sums) tables_.losses.emplace_back(reason, count);
  }

  // The process of a call, added at its first call; nullptr beyond the limit.
  RecordedProcess* processOf(int64_t id) {
    auto [at, is_new] = rows_.try_emplace(id, tables_.processes.size());
    if (!is_new) return &tables_.processes[at->second];
    if (tables_.processes.size() >= kMaxProcesses) {
      rows_.erase(at);
      return nullptr;
    }
    const model::RecordedProcesses& known = run_.processes;
    std::optional<size_t> row = model::rowOf(known, id);
    if (!row) {
      badRow("processes");
      tables_.processes.push_back({id, 0, "unknown process", {}, {}});
    } else {
      tables_.processes.push_back(
          {id, known.pid[*row], std::string(textOf(known.name[*row])), {}, {}});
    }
    return &tables_.processes.back();
  }

  base::Status readCalls() {
    uint64_t rows = 0;
    carried_calls_ = carriedCalls(file_);
    base::Status status = file_.forEachRow(
        fmt::format("SELECT {}, call_id FROM calls NOT INDEXED ORDER BY call_id", kCallColumns)
            .c_str(),
        [&](Row& row) {
          if (++rows % 65536 == 0 && progress_) {
            progress_(std::min(file_.fileBytes(), rows * 60), file_.fileBytes());
          }
          takeCall(row);
          return true;
        });
    if (!status.ok()) {
      // Rows before the damage are valid.
      if (rows == 0 || status.error().kind != base::ErrorKind::kUnreadable) return status;
      run_.unread.push_back({"calls", status.error().what});
      tables_.issues.add({.kind = IssueKind::kIncompleteRecording,
                          .detail = "calls after the " + std::to_string(rows) +
                                    "th cannot be read: " + status.error().what});
    }
    for (RecordedProcess& process : tables_.processes) {
      for (MemoryCall& call : process.calls) model::countAtItsStart(call);
      auto before = [](const MemoryCall& a, const MemoryCall& b) { return a.end_ns < b.end_ns; };
      auto first = process.calls.begin() + static_cast<std::ptrdiff_t>(process.carried);
      if (!std::is_sorted(first, process.calls.end(), before)) {
        std::stable_sort(first, process.calls.end(), before);
      }
    }
    return base::okStatus();
  }

  void takeCall(Row& row) {
    auto read = readCall(row, functions_);
    if (!read) {
      badRow("calls");
      return;
    }
    MemoryCall& call = read->call;
    bool is_carried = row.integer(kCallColumnCount) <= carried_calls_;
    if (read->stack_id) {
      auto known = tables_.stack_rows.find(*read->stack_id);
      if (known == tables_.stack_rows.end()) {
        badRow("calls.stack_id");
      } else {
        call.stack = known->second;
      }
    }
    RecordedProcess* process = processOf(read->process_id);
    if (process == nullptr) {
      badRow("processes beyond the first 4,096");
      return;
    }
    process->calls.push_back(call);
    if (is_carried) ++process->carried;  // rows are in order: the carried ones come first
  }

  SqliteFile& file_;
  const Progress& progress_;
  RecordedTables tables_;
  model::RecordedRun run_;
  Functions functions_;
  int64_t carried_calls_ = 0;  // number of carried calls, which come first
  boost::unordered_flat_map<int64_t, size_t> rows_;
};

}  // namespace

base::Result<RecordedTables> readTables(SqliteFile& file, const Progress& progress,
                                        bool is_abandoned) {
  return TableReader(file, progress).run(is_abandoned);
}

}  // namespace tidegauge::readers::recording
