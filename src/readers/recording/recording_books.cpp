#include "readers/recording/recording_books.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "model/call_site.h"
#include "model/call_words.h"
#include "readers/recording/file/growth.h"
#include "readers/recording/tables/call_row.h"

namespace tidegauge::readers::recording {
namespace {

constexpr int64_t kMax32 = UINT32_MAX;
constexpr size_t kMaxFrames = 64;
constexpr size_t kMaxText = 4000;
// Launches and copies are counted once a second: what happened in the last one is not known yet.
constexpr int64_t kCountedLate_ns = 1'000'000'000;

int64_t wallClock_ns() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// Without these nothing can be said of memory; any other table costs only itself.
base::Status requireCalls(SqliteFile& file) {
  TG_RETURN_IF_ERROR(file.require("functions", {"function_id", "name", "plane", "verb", "kind"}));
  return file.require("calls", {"call_id", "start_ns", "end_ns", "process_id", "thread",
                                "function_id", "address", "size_bytes", "handle", "stream",
                                "offset", "device", "code", "stack_id", "inner", "in_runtime"});
}

std::string cut(std::string text) {
  if (text.size() > kMaxText) text.resize(kMaxText);
  return text;
}

}  // namespace

template <class Read>
void RecordingBooks::tolerate(SqliteFile& file, const char* table,
                              std::initializer_list<std::string_view> columns, const Read& read) {
  if (unread_.contains(table)) return;
  base::Status status = file.require(table, columns);
  if (status.ok()) status = (this->*read)(file);
  if (status.ok()) return;
  unread_.insert(table);
  model::Unwatched unread;
  unread.figures = model::figuresOfTable(table);
  unread.reason = fmt::format("table {} cannot be read: {}", table, status.error().what);
  book_.addUnwatched(std::nullopt, unread);
}

base::Status RecordingBooks::read(SqliteFile& file) {
  TG_RETURN_IF_ERROR(requireCalls(file));
  tails_.beginLook(kMaxRowsPerLook);
  tolerate(file, "meta", {"key", "value"}, &RecordingBooks::readMeta);
  TG_RETURN_IF_ERROR(readFunctions(file));
  tolerate(file, "processes", {"process_id", "pid", "name", "command", "began_ns", "ended_ns"},
           &RecordingBooks::readProcesses);
  tolerate(file, "kernels", {"kernel_id", "handle", "name"}, &RecordingBooks::readKernels);
  TG_RETURN_IF_ERROR(readCalls(file));
  tolerate(file, "launches", {"begin_ns", "end_ns", "process_id", "kernel_id", "count"},
           &RecordingBooks::readLaunches);
  tolerate(file, "copies",
           {"begin_ns", "end_ns", "process_id", "direction", "submitted", "count", "size_bytes",
            "host_ns", "failures"},
           &RecordingBooks::readCopies);
  tolerate(file, "losses", {"time_ns", "reason", "count"}, &RecordingBooks::readLosses);
  if (file.has("unwatched"))
    tolerate(
        file, "unwatched",
        {"begin_ns", "end_ns", "process_id", "pid", "library", "function", "figures", "reason"},
        &RecordingBooks::readUnwatched);
  if (!tails_.of("calls").isBehind()) endProcesses();
  return base::okStatus();
}

base::Status RecordingBooks::readMeta(SqliteFile& file) {
  carried_calls_ = carriedCalls(file);
  return file.forEachRow("SELECT value FROM meta WHERE key = 'ended_ns'", [&](Row& row) {
    int64_t value = row.decimal(0);
    if (!row.isBad()) ended_ns_ = value;
    return true;
  });
}

base::Status RecordingBooks::readFunctions(SqliteFile& file) {
  return tails_.read(
      file, "functions", "function_id", "function_id, name, plane, verb, kind", [&](Row& row) {
        int64_t id = row.integer(0, 0, UINT16_MAX);
        auto plane = model::planeNamed(row.text(2));
        auto verb = model::verbNamed(row.text(3));
        auto kind = model::memoryKindNamed(row.text(4));
        std::string name = row.text(1);
        if (row.isBad() || !plane || !verb || !kind) return;  // a copy or launch, too
        functions_[id] = {static_cast<uint16_t>(function_names_.size()), *plane, *verb, *kind};
        function_names_.push_back(cut(std::move(name)));
      });
}

// New ones, and whether those that ran have ended.
base::Status RecordingBooks::readProcesses(SqliteFile& file) {
  TG_RETURN_IF_ERROR(tails_.read(
      file, "processes", "process_id", "process_id, pid, name, command, began_ns", [&](Row& row) {
        model::LiveProcess process;
        process.process = static_cast<uint32_t>(row.integer(0, 0, kMax32 - 1));
        process.pid = static_cast<uint32_t>(row.integer(1, 0, kMax32));
        process.name = cut(row.text(2));
        process.command = cut(row.text(3));
        process.began_ns = row.integer(4, 0, INT64_MAX);
        if (row.isBad()) {
          ++bad_rows_;
          return;
        }
        book_.addProcess(process);
        running_.emplace(process.process, std::nullopt);
      }));
  if (running_.empty()) return base::okStatus();
  std::string sql = fmt::format(
      "SELECT process_id, ended_ns FROM processes NOT INDEXED "
      "WHERE process_id >= {} AND ended_ns IS NOT NULL",
      running_.begin()->first);
  return file.forEachRow(sql.c_str(), [&](Row& row) {
    auto found = running_.find(static_cast<uint32_t>(row.integer(0, 0, kMax32 - 1)));
    int64_t ended_ns = row.integer(1, 0, INT64_MAX);
    if (!row.isBad() && found != running_.end()) found->second = ended_ns;
    return true;
  });
}

// Not before all calls of this moment were read: nothing of a process comes after its end.
void RecordingBooks::endProcesses() {
  for (auto at = running_.begin(); at != running_.end();) {
    if (!at->second) {
      ++at;
      continue;
    }
    ledger_.endProcess(at->first, *at->second);
    book_.endProcess(at->first, *at->second);
    at = running_.erase(at);
  }
}

base::Status RecordingBooks::readKernels(SqliteFile& file) {
  return tails_.read(file, "kernels", "kernel_id", "kernel_id, handle, name", [&](Row& row) {
    int64_t id = row.integer(0);
    uint64_t handle = row.word(1);
    std::string name = row.text(2);
    if (name.empty()) name = model::namelessKernel(handle);
    kernels_[id] = cut(std::move(name));
  });
}

base::Status RecordingBooks::readCalls(SqliteFile& file) {
  return tails_.read(file, "calls", "call_id", kCallColumns, [&](Row& row) {
    auto read = readCall(row, functions_);
    if (!read) {
      ++bad_rows_;
      return;
    }
    model::MemoryCall& call = read->call;
    call.process = static_cast<uint32_t>(read->process_id);
    if (read->stack_id && *read->stack_id >= 0 && *read->stack_id < kMax32)
      call.stack = static_cast<uint32_t>(*read->stack_id);
    if (tails_.of("calls").last <= carried_calls_) {
      ledger_.takeCarried(call);
      return;
    }
    ++calls_;
    ledger_.take(call);
  });
}

base::Status RecordingBooks::readLaunches(SqliteFile& file) {
  return tails_.read(
      file, "launches", "rowid", "begin_ns, end_ns, process_id, kernel_id, count", [&](Row& row) {
        int64_t begin_ns = row.integer(0, 0, INT64_MAX), end_ns = row.integer(1, 0, INT64_MAX);
        auto process = static_cast<uint32_t>(row.integer(2, 0, kMax32 - 1));
        auto kernel = kernels_.find(row.integer(3));
        int64_t count = row.integer(4, 0, INT64_MAX);
        if (row.isBad() || kernel == kernels_.end() || !limits_.launches.fits(count)) {
          ++bad_rows_;
          return;
        }
        limits_.launches.add(count);
        book_.addLaunches(process, kernel->second, static_cast<uint64_t>(count), begin_ns, end_ns);
      });
}

base::Status RecordingBooks::readCopies(SqliteFile& file) {
  return tails_.read(
      file, "copies", "rowid",
      "begin_ns, end_ns, process_id, direction, submitted, count, size_bytes, host_ns, failures",
      [&](Row& row) {
        model::LiveCopyCount copies;
        copies.begin_ns = row.integer(0, 0, INT64_MAX);
        copies.end_ns = row.integer(1, 0, INT64_MAX);
        auto process = static_cast<uint32_t>(row.integer(2, 0, kMax32 - 1));
        copies.direction = cut(row.text(3));
        copies.submitted = row.integer(4) != 0;
        std::array<int64_t, 4> sums{};
        bool fit = true;
        for (size_t i = 0; i < sums.size(); ++i) {
          sums[i] = row.integer(5 + static_cast<int>(i), 0, INT64_MAX);
          fit &= limits_.copies[i].fits(sums[i]);
        }
        if (row.isBad() || !fit) {
          ++bad_rows_;
          return;
        }
        for (size_t i = 0; i < sums.size(); ++i) limits_.copies[i].add(sums[i]);
        copies.calls = static_cast<uint64_t>(sums[0]);
        copies.bytes = static_cast<uint64_t>(sums[1]);
        copies.host_ns = static_cast<uint64_t>(sums[2]);
        copies.failures = static_cast<uint64_t>(sums[3]);
        book_.addCopies(process, copies);
      });
}

base::Status RecordingBooks::readUnwatched(SqliteFile& file) {
  return tails_.read(file, "unwatched", "rowid",
                     "process_id, pid, library, function, figures, reason, begin_ns, end_ns",
                     [&](Row& row) {
                       auto process = row.maybeInteger(0);
                       auto pid = row.maybeInteger(1);
                       model::Unwatched what;
                       what.library = cut(row.text(2));
                       what.function = cut(row.text(3));
                       what.figures = model::figuresNamed(row.text(4));
                       what.reason = cut(row.text(5));
                       what.begin_ns = row.maybeInteger(6);
                       what.end_ns = row.maybeInteger(7);
                       if (row.isBad() || (process && (*process < 0 || *process >= kMax32))) {
                         ++bad_rows_;
                       } else if (process) {
                         book_.addUnwatched(static_cast<uint32_t>(*process), what);
                       } else if (!pid) {
                         book_.addUnwatched(std::nullopt, what);
                       }
                     });
}

base::Status RecordingBooks::readLosses(SqliteFile& file) {
  return tails_.read(file, "losses", "rowid", "reason, count", [&](Row& row) {
    std::string reason = cut(row.text(0));
    int64_t count = row.integer(1, 0, INT64_MAX);
    if (row.isBad() || !limits_.losses.fits(count)) {
      ++bad_rows_;
      return;
    }
    limits_.losses.add(count);
    book_.addLoss(reason, static_cast<uint64_t>(count));
  });
}

double RecordingBooks::readShare() const {
  double read = 0, all = 0;
  bool behind = false;
  for (std::string_view table : {"calls", "launches", "copies"}) {
    TableTail tail = tails_.of(table);
    read += static_cast<double>(std::max<int64_t>(0, tail.last));
    all += static_cast<double>(std::max<int64_t>(0, tail.end));
    behind |= tail.isBehind();
  }
  return behind && all > 0 ? std::min(read / all, 0.999) : 1;
}

model::StackWords RecordingBooks::wordsOf(SqliteFile& file, uint32_t stack) {
  model::StackWords words;
  // What cannot be read is not there: the figures stand without it.
  (void)file.forEachRow(
      fmt::format("SELECT f.function, f.file, f.line, m.path, f.\"offset\" FROM stack_frames s "
                  "JOIN frames f ON f.frame_id = s.frame_id "
                  "LEFT JOIN modules m ON m.module_id = f.module_id "
                  "WHERE s.stack_id = {} ORDER BY s.place LIMIT {}",
                  stack, kMaxFrames)
          .c_str(),
      [&](Row& row) {
        std::string function = row.text(0), source = row.text(1), module = row.text(3);
        int64_t line = std::max<int64_t>(0, row.maybeInteger(2).value_or(0));
        int64_t offset = row.maybeInteger(4).value_or(0);
        words.add(
            {function, source, static_cast<uint64_t>(line), module, static_cast<uint64_t>(offset)});
        words.frames.back() = cut(words.frames.back());
        return true;
      });
  words.site = cut(words.site);
  return words;
}

model::LiveSnapshot RecordingBooks::look(SqliteFile& file, const model::LiveWish& wish,
                                         bool has_writer) const {
  model::LiveMoment moment;
  moment.state = ended_ns_    ? model::LiveState::kFinished
                 : has_writer ? model::LiveState::kRecording
                              : model::LiveState::kAbandoned;
  moment.now_ns = book_.newestNs();
  if (ended_ns_) moment.now_ns = std::max(moment.now_ns, *ended_ns_);
  moment.counted_ns = moment.now_ns;
  double share = readShare();
  // While old rows are still being read, now is where the reading is.
  if (moment.state == model::LiveState::kRecording && share == 1) {
    moment.now_ns = std::max(moment.now_ns, wallClock_ns());
    moment.counted_ns = moment.now_ns - kCountedLate_ns;
  }
  model::LiveNames names;
  names.stack = [&](uint32_t stack) { return wordsOf(file, stack); };
  names.function = [&](uint16_t function) {
    return function < function_names_.size() ? function_names_[function] : std::string();
  };
  model::LiveSnapshot snapshot = book_.look(ledger_, wish, moment, names);
  snapshot.calls = calls_;
  snapshot.bad_rows = bad_rows_;
  snapshot.read_share = share;
  return snapshot;
}

}  // namespace tidegauge::readers::recording
