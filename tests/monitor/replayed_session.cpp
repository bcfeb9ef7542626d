#include "monitor/replayed_session.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "bpf/records.h"
#include "readers/recording/file/sqlite_file.h"
#include "readers/recording/tables/call_row.h"
#include "support/quiet_source.h"

namespace tidegauge::testing {
namespace {

using readers::recording::CallRow;
using readers::recording::Function;
using readers::recording::Functions;
using readers::recording::Row;
using readers::recording::SqliteFile;

class Replay {
 public:
  Replay(SqliteFile file, record::Session& session, record::Losses& losses)
      : file_(std::move(file)), session_(session), losses_(losses) {}

  base::Status read() {
    TG_RETURN_IF_ERROR(readProcesses());
    TG_RETURN_IF_ERROR(readFunctions());
    TG_RETURN_IF_ERROR(readKernels());
    TG_RETURN_IF_ERROR(readCalls());
    TG_RETURN_IF_ERROR(readLaunches());
    TG_RETURN_IF_ERROR(readCopies());
    TG_RETURN_IF_ERROR(readDevices());
    TG_RETURN_IF_ERROR(readLosses());
    return readUnwatched();
  }

  void run(size_t events_per_look, const std::function<void(int64_t)>& look) {
    std::stable_sort(events_.begin(), events_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    int64_t now_ns = 0;
    size_t count = 0;
    for (const auto& [time_ns, act] : events_) {
      act();
      now_ns = std::max(now_ns, time_ns);
      if (++count % events_per_look == 0) look(now_ns);
    }
    // Unwatched rows find their process at the end.
    QuietSource quiet;
    quiet.lost = losses_;
    session_.forgetAfter(std::numeric_limits<int64_t>::max());
    (void)session_.finish(quiet);
    look(now_ns);
  }

 private:
  void at(int64_t time_ns, std::function<void()> act) {
    events_.emplace_back(time_ns, std::move(act));
  }
  std::optional<uint32_t> processOf(int64_t process_id) const {
    auto found = processes_.find(process_id);
    return found == processes_.end() ? std::nullopt : std::optional(found->second);
  }

  base::Status readProcesses() {
    return file_.forEachRow(
        "SELECT process_id, pid, name, command, began_ns, ended_ns, exit_status FROM processes "
        "ORDER BY process_id",
        [&](Row& row) {
          record::SeenProcess seen;
          seen.index = static_cast<uint32_t>(processes_.size());
          seen.pid = static_cast<uint32_t>(row.integer(1));
          seen.name = row.text(2);
          seen.command = row.text(3);
          seen.first_ns = row.integer(4);
          seen.from_start = true;
          processes_.emplace(row.integer(0), seen.index);
          session_.processSeen(seen);
          if (auto ended_ns = row.maybeInteger(5))
            at(*ended_ns, [this, index = seen.index, ended_ns, status = row.maybeInteger(6)] {
              session_.processEnded(
                  index, *ended_ns,
                  status ? std::optional(static_cast<int>(*status)) : std::nullopt);
            });
          return true;
        });
  }

  base::Status readFunctions() {
    return file_.forEachRow("SELECT function_id, plane, verb, kind FROM functions", [&](Row& row) {
      auto plane = model::planeNamed(row.text(1));
      auto verb = model::verbNamed(row.text(2));
      auto kind = model::memoryKindNamed(row.text(3));
      if (plane && verb && kind) functions_[row.integer(0)] = Function{0, *plane, *verb, *kind};
      return true;
    });
  }

  base::Status readKernels() {
    return file_.forEachRow("SELECT kernel_id, process_id, handle, name FROM kernels",
                            [&](Row& row) {
                              if (auto process = processOf(row.integer(1))) {
                                kernels_[row.integer(0)] = row.word(2);
                                session_.kernelNamed({*process, row.word(2), 0, row.text(3)});
                              }
                              return true;
                            });
  }

  base::Status readCalls() {
    std::string sql = "SELECT ";
    sql += readers::recording::kCallColumns;
    sql += " FROM calls ORDER BY call_id";
    return file_.forEachRow(sql.c_str(), [&](Row& row) {
      std::optional<CallRow> read = readCall(row, functions_);
      if (!read) return true;
      if (auto process = processOf(read->process_id)) {
        read->call.process = *process;
        at(read->call.end_ns, [this, call = read->call] { session_.call(call); });
      }
      return true;
    });
  }

  base::Status readLaunches() {
    return file_.forEachRow(
        "SELECT end_ns, process_id, kernel_id, grid_x, block_x, count FROM launches",
        [&](Row& row) {
          record::LaunchCount count;
          auto process = processOf(row.integer(1));
          if (!process) return true;
          count.process = *process;
          count.kernel = kernels_[row.integer(2)];
          count.grid[0] = static_cast<uint32_t>(row.integer(3));
          count.block[0] = static_cast<uint32_t>(row.integer(4));
          count.launches = row.word(5);
          at(row.integer(0), [this, count] { session_.launchesSeen({count}); });
          return true;
        });
  }

  base::Status readCopies() {
    return file_.forEachRow(
        "SELECT end_ns, process_id, direction, submitted, "
        "count, size_bytes, host_ns, failures FROM copies",
        [&](Row& row) {
          auto process = processOf(row.integer(1));
          if (!process) return true;
          record::CopyCount count;
          count.process = *process;
          std::string direction = row.text(2);
          while (count.direction < COPY_DIRECTIONS &&
                 record::directionName(count.direction) != direction)
            ++count.direction;
          count.submitted = row.integer(3) != 0;
          count.calls = row.word(4);
          count.bytes = row.word(5);
          count.time_ns = row.word(6);
          count.failures = row.word(7);
          at(row.integer(0), [this, count] { session_.copiesSeen({count}); });
          return true;
        });
  }

  base::Status readDevices() {
    record::DeviceSample sample;
    TG_RETURN_IF_ERROR(file_.forEachRow(
        "SELECT device, name, uuid, total_bytes FROM devices ORDER BY device", [&](Row& row) {
          record::DeviceUse use;
          use.device = static_cast<int32_t>(row.integer(0));
          use.name = row.text(1);
          use.uuid = row.text(2);
          use.total_bytes = row.word(3);
          use.processes.emplace();
          sample.devices.push_back(std::move(use));
          return true;
        }));
    return file_.forEachRow(
        "SELECT time_ns, device, pid, used_bytes FROM device_memory ORDER BY time_ns",
        [&](Row& row) {
          sample.time_ns = row.integer(0);
          auto device = row.integer(1);
          auto use = std::ranges::find(sample.devices, device, &record::DeviceUse::device);
          if (use == sample.devices.end()) return true;
          if (auto pid = row.maybeInteger(2)) {
            auto& all = *use->processes;
            auto process =
                std::ranges::find(all, static_cast<uint32_t>(*pid), &record::ProcessUse::pid);
            if (process == all.end())
              process = all.insert(all.end(), {static_cast<uint32_t>(*pid), 0});
            process->used_bytes = row.word(3);
          } else {
            use->used_bytes = row.word(3);
          }
          at(sample.time_ns, [this, sample] { session_.devicesSeen(sample); });
          return true;
        });
  }

  base::Status readLosses() {
    return file_.forEachRow("SELECT time_ns, reason, count FROM losses", [&](Row& row) {
      std::string reason = row.text(1);
      for (size_t i = 0; i < LOSS_KINDS; ++i) {
        if (record::lossReason(i) != reason) continue;
        at(row.integer(0), [this, i, count = row.word(2)] { losses_[i] += count; });
      }
      return true;
    });
  }

  base::Status readUnwatched() {
    std::map<std::string, record::WatchedLibrary> libraries;
    TG_RETURN_IF_ERROR(file_.forEachRow(
        "SELECT pid, library, function, figures, reason FROM unwatched", [&](Row& row) {
          model::Unwatched what;
          what.pid = static_cast<uint32_t>(row.maybeInteger(0).value_or(0));
          what.library = row.text(1);
          what.function = row.text(2);
          what.figures = model::figuresNamed(row.text(3));
          what.reason = row.text(4);
          session_.unwatched(what, 0);
          if (!what.library.empty()) {
            record::WatchedLibrary& library = libraries[what.library];
            library.path = what.library;
            library.unwatched.push_back(std::move(what));
          }
          return true;
        }));
    for (const auto& [path, library] : libraries) session_.libraryWatched(library);
    return base::okStatus();
  }

  SqliteFile file_;
  record::Session& session_;
  record::Losses& losses_;
  std::map<int64_t, uint32_t> processes_;  // process_id → index
  std::map<int64_t, uint64_t> kernels_;    // kernel_id → handle
  Functions functions_;
  std::vector<std::pair<int64_t, std::function<void()>>> events_;
};

}  // namespace

base::Status replay(const std::string& path, record::Session& session, record::Losses& losses,
                    size_t events_per_look, const std::function<void(int64_t now_ns)>& look) {
  TG_ASSIGN_OR_RETURN(SqliteFile file, SqliteFile::open(path));
  Replay replayed(std::move(file), session, losses);
  TG_RETURN_IF_ERROR(replayed.read());
  replayed.run(events_per_look, look);
  return base::okStatus();
}

}  // namespace tidegauge::testing
