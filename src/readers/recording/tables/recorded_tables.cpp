#include "readers/recording/tables/recorded_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/ledger/contexts.h"
#include "readers/recording/tables/fold_interpreter.h"
#include "readers/recording/tables/work_tables.h"

namespace tidegauge::readers::recording {
namespace {

using model::IssueKind;
using model::MemoryCall;

constexpr size_t kMaxProcesses = 4096;
constexpr size_t kMaxDepth = 1024;
constexpr size_t kMaxReasons = 100;

bool hasLaunchEvents(SqliteFile& file) {
  bool found = false;
  if (!file.has("launch_events")) return false;
  base::Status status = file.forEachRow("SELECT 1 FROM launch_events LIMIT 1", [&](Row&) {
    found = true;
    return false;
  });
  return found || !status.ok();
}

}  // namespace

void sortCalls(RecordedProcess& process) {
  auto before = [](const MemoryCall& a, const MemoryCall& b) { return a.end_ns < b.end_ns; };
  auto first = process.calls.begin() +
               static_cast<std::ptrdiff_t>(std::min(process.carried, process.calls.size()));
  if (!std::is_sorted(first, process.calls.end(), before))
    std::stable_sort(first, process.calls.end(), before);
}

TablesReader::TablesReader()
    : folding_(std::make_unique<InterpreterFold>()), kept_work_(std::make_unique<KeptWork>()) {}
TablesReader::~TablesReader() = default;

base::Result<bool> TablesReader::read(SqliteFile& file, const Progress& progress,
                                      bool is_abandoned) {
  TG_RETURN_IF_ERROR(checkCalls(file));
  if (was_read_ && (!continues_ || file.isCutShort() || !isSameSoFar(file))) return false;
  beginRead();
  TG_ASSIGN_OR_RETURN(run_, readRun(file, tables_.issues));
  noteCut(file);
  int64_t carried = carriedCalls(file);
  if (was_read_ && carried != carried_calls_) return false;
  carried_calls_ = carried;
  if (!takeFunctions() || !readFrames(file)) return false;
  readStacks(file);
  addUpLosses();
  for (RecordedProcess& process : tables_.processes) nameProcess(process);
  base::Status calls = readCalls(file, progress);
  // Rows that are skipped are counted over all that were read.
  if (was_stopped_ || (was_read_ && (!calls.ok() || !continues_))) return false;
  TG_RETURN_IF_ERROR(calls);
  with_calls_ = tables_.processes.size();
  auto work_of = [&](int64_t process_id) {
    RecordedProcess* process = processOf(process_id, false);
    return process == nullptr ? nullptr : &process->work;
  };
  TG_RETURN_IF_ERROR(readWork(file, run_, tables_.issues, work_of, *kept_work_));
  continues_ &= kept_work_->continues;
  if (was_read_ && !continues_) return false;
  run_.was_killed = is_abandoned && !run_.ended_ns;
  for (const auto& [process_id, place] : rows_) run_.traced.push_back(process_id);
  std::sort(run_.traced.begin(), run_.traced.end());
  tables_.run = std::make_shared<const model::RecordedRun>(std::move(run_));
  was_read_ = true;
  return true;
}

// Memory figures need these two; any other missing table only affects its own figures.
base::Status TablesReader::checkCalls(SqliteFile& file) {
  TG_RETURN_IF_ERROR(file.require("functions", {"function_id", "name", "plane", "verb", "kind"}));
  return file.require("calls", {"call_id", "start_ns", "end_ns", "process_id", "thread",
                                "function_id", "address", "size_bytes", "handle", "stream",
                                "offset", "device", "code", "stack_id", "inner", "in_runtime"});
}

// Processes that made no call are found again where their work is.
void TablesReader::beginRead() {
  tables_.processes.erase(tables_.processes.begin() + static_cast<ptrdiff_t>(with_calls_),
                          tables_.processes.end());
  rows_.clear();
  for (size_t i = 0; i < with_calls_; ++i) {
    rows_[tables_.processes[i].id] = i;
    tables_.processes[i].work = {};
  }
  run_ = {};
  tables_.run = nullptr;
  tables_.texts = {};
  tables_.frames.clear();
  tables_.frame_rows.clear();
  tables_.losses.clear();
  tables_.issues = {};
}

// Is the last call that was read still there? A file of other contents may be written in its place.
bool TablesReader::isSameSoFar(SqliteFile& file) {
  if (last_call_ < 0) return true;
  bool is_same = false;
  base::Status status = file.forEachRow(
      fmt::format("SELECT {} FROM calls NOT INDEXED WHERE call_id = {}", kCallColumns, last_call_)
          .c_str(),
      [&](Row& row) {
        auto read = readCall(row, functions_);
        is_same = read && isSameRow(*read, last_row_);
        return false;
      });
  return status.ok() && is_same;
}

void TablesReader::noteCut(SqliteFile& file) {
  run_.is_cut_short = file.isCutShort();
  if (!run_.is_cut_short) return;
  continues_ = false;
  tables_.issues.add({.kind = IssueKind::kIncompleteRecording,
                      .detail = "the file is cut short: its last page is not whole"});
}

// Rows before the damage are valid.
void TablesReader::readAll(SqliteFile& file, const char* table,
                           std::initializer_list<std::string_view> columns, const char* sql,
                           const std::function<bool(Row&)>& visit) {
  base::Status status = file.require(table, columns);
  if (status.ok()) status = file.forEachRow(sql, visit);
  if (status.ok()) return;
  continues_ = false;
  noteUnread(table, status.error().what, run_, tables_.issues);
}

void TablesReader::badRow(const char* table) { notePassedOver(table, run_, tables_.issues); }

// In a table of which later reads take the new rows alone: they would not count it.
void TablesReader::oddRow(const char* table) {
  continues_ = false;
  badRow(table);
}

// False: functions that calls refer to have other numbers now.
bool TablesReader::takeFunctions() {
  std::vector<std::string> before = std::move(tables_.functions);
  Functions ids_before = std::move(functions_);
  tables_.functions.clear();
  functions_.clear();
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
  bool is_same = tables_.functions.size() >= before.size() &&
                 std::equal(before.begin(), before.end(), tables_.functions.begin());
  return is_same && std::all_of(ids_before.begin(), ids_before.end(), [&](const auto& it) {
           auto now = functions_.find(it.first);
           return now != functions_.end() && now->second == it.second;
         });
}

// Names arrive late, so frames are read again. False: they are others than before.
bool TablesReader::readFrames(SqliteFile& file) {
  std::vector<int64_t> ids_before = std::move(frame_ids_);
  frame_ids_.clear();
  boost::unordered_flat_map<int64_t, base::StringId> modules;
  readAll(file, "modules", {"module_id", "path"}, "SELECT module_id, path FROM modules NOT INDEXED",
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
  readAll(file, "frames", {"frame_id", "module_id", "offset", "function", "file", "line"},
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
            frame_ids_.push_back(id);
            return true;
          });
  bool is_same = frame_ids_.size() >= ids_before.size() &&
                 std::equal(ids_before.begin(), ids_before.end(), frame_ids_.begin());
  return folding_->takeFrames(tables_) && is_same;
}

void TablesReader::readStacks(SqliteFile& file) {
  size_t first = tables_.stack_begin.size() - 1;
  std::vector<std::pair<int64_t, uint32_t>> fresh;
  std::optional<int64_t> current;
  auto close = [&] {
    if (current) tables_.stack_begin.push_back(tables_.stack_frames.size());
  };
  std::string which = was_read_ ? fmt::format("WHERE stack_id > {} ", last_stack_) : std::string();
  std::string sql = fmt::format(
      "SELECT stack_id, frame_id FROM stack_frames NOT INDEXED {}ORDER BY stack_id, place", which);
  readAll(file, "stack_frames", {"stack_id", "place", "frame_id"}, sql.c_str(), [&](Row& row) {
    int64_t stack = row.integer(0, 0, kMax32 - 1);
    auto frame = tables_.frame_rows.find(row.integer(1));
    if (row.isBad() || frame == tables_.frame_rows.end()) {
      oddRow("stack_frames");
      return true;
    }
    if (stack != current) {
      if (tables_.stack_rows.contains(stack)) {
        oddRow("stack_frames");
        return true;
      }
      close();
      current = stack;
      last_stack_ = stack;
      fresh.emplace_back(stack, static_cast<uint32_t>(tables_.stack_begin.size() - 1));
      tables_.stack_rows[stack] = fresh.back().second;
    }
    if (tables_.stack_frames.size() - tables_.stack_begin.back() < kMaxDepth) {
      tables_.stack_frames.push_back(frame->second);
    } else {
      continues_ = false;
      tables_.issues.add({.kind = IssueKind::kCutText, .detail = "stack"});
    }
    return true;
  });
  close();
  folding_->fold(tables_, first, fresh);
  for (const auto& [id, row] : fresh) tables_.stack_rows[id] = row;
}

void TablesReader::addUpLosses() {
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

void TablesReader::nameProcess(RecordedProcess& process) {
  const model::RecordedProcesses& known = run_.processes;
  std::optional<size_t> row = model::rowOf(known, process.id);
  process.pid = row ? known.pid[*row] : 0;
  process.name = row ? std::string(textOf(known.name[*row])) : "unknown process";
}

// The process of a row, added at its first row; nullptr beyond the limit.
RecordedProcess* TablesReader::processOf(int64_t id, bool of_call) {
  auto [at, is_new] = rows_.try_emplace(id, tables_.processes.size());
  if (!is_new) return &tables_.processes[at->second];
  if (tables_.processes.size() >= kMaxProcesses) {
    rows_.erase(at);
    return nullptr;
  }
  if (!model::rowOf(run_.processes, id)) {
    badRow("processes");
    continues_ &= !of_call;
  }
  RecordedProcess& process = tables_.processes.emplace_back();
  process.id = id;
  nameProcess(process);
  return &process;
}

base::Status TablesReader::readCalls(SqliteFile& file, const Progress& progress) {
  uint64_t rows = 0;
  bool hands_on = !was_read_ && take_calls_ && !hasLaunchEvents(file);
  std::string which = was_read_ ? fmt::format("WHERE call_id > {} ", last_call_) : std::string();
  base::Status status =
      file.forEachRow(fmt::format("SELECT {}, call_id FROM calls NOT INDEXED {}ORDER BY call_id",
                                  kCallColumns, which)
                          .c_str(),
                      [&](Row& row) {
                        if (++rows % 65536 == 0 && progress) {
                          progress(std::min(file.fileBytes(), rows * 60), file.fileBytes());
                        }
                        takeCall(row);
                        bool is_full = hands_on && rows % rows_at_once_ == 0;
                        was_stopped_ = is_full && !take_calls_(run_, tables_.processes);
                        return !was_stopped_;
                      });
  if (!status.ok()) {
    continues_ = false;
    // Rows before the damage are valid.
    bool has_none = rows == 0 && !was_read_;
    if (has_none || status.error().kind != base::ErrorKind::kUnreadable) return status;
    run_.unread.push_back({"calls", status.error().what});
    tables_.issues.add({.kind = IssueKind::kIncompleteRecording,
                        .detail = "calls after the " + std::to_string(rows) +
                                  "th cannot be read: " + status.error().what});
  }
  for (RecordedProcess& process : tables_.processes) sortCalls(process);
  return base::okStatus();
}

void TablesReader::takeCall(Row& row) {
  auto read = readCall(row, functions_);
  if (!read) {
    oddRow("calls");
    return;
  }
  int64_t id = row.integer(kCallColumnCount);
  last_call_ = id;
  last_row_ = *read;
  MemoryCall& call = read->call;
  bool is_carried = id <= carried_calls_;
  if (read->stack_id) {
    auto known = tables_.stack_rows.find(*read->stack_id);
    if (known == tables_.stack_rows.end()) {
      oddRow("calls.stack_id");
    } else {
      call.stack = known->second;
    }
  }
  RecordedProcess* process = processOf(read->process_id, true);
  if (process == nullptr) {
    oddRow("processes beyond the first 4,096");
    return;
  }
  model::countAtItsStart(call);
  process->longest_ns = std::max(process->longest_ns, call.longer_ns);
  process->calls.push_back(call);
  if (is_carried) ++process->carried;  // rows are in order: the carried ones come first
}

}  // namespace tidegauge::readers::recording
