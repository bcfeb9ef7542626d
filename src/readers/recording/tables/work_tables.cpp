#include "readers/recording/tables/work_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/sizes.h"
#include "model/call_words.h"
#include "model/ledger/contexts.h"
#include "model/live/watched.h"
#include "readers/recording/file/sum_limit.h"

namespace tidegauge::readers::recording {
namespace {

using base::StringId;
using model::kNotRecorded;

constexpr size_t kMaxDevicePrograms = 100'000;
constexpr size_t kMaxUnwatched = size_t{1} << 16;  // each process searches all of them
constexpr int64_t kMaxDeviceBytes = base::kMaxSizeBytes;
constexpr size_t kMaxArgumentBytes = 4096;  // of one launch

class WorkReader {
 public:
  WorkReader(SqliteFile& file, model::RecordedRun& run, model::Issues& issues)
      : file_(file), run_(run), strings_(run.strings), issues_(issues) {}
  WorkReader(SqliteFile& file, model::RecordedRun& run, model::Issues& issues, KeptWork& kept)
      : WorkReader(file, run, issues) {
    kept_ = &kept;
  }

  base::Status readProcesses(model::RecordedProcesses& out) {
    // Files of other programs may lack columns: only these are required.
    return rows("processes",
                {"process_id", "pid", "parent_pid", "name", "command", "cgroup", "began_ns",
                 "ended_ns", "exit_status", "end_reason"},
                "SELECT process_id, pid, parent_pid, name, command, cgroup, began_ns, ended_ns, "
                "exit_status, end_reason FROM processes NOT INDEXED ORDER BY process_id",
                [&](Row& row) {
                  int64_t id = row.integer(0, 0, kMax32 - 1), pid = row.integer(1, 0, kMax32);
                  int64_t parent = maybe(row, 2), cgroup = maybe(row, 5);
                  StringId name = text(row, 3), command = text(row, 4), reason = text(row, 9);
                  int64_t began = row.integer(6), ended = maybe(row, 7), status = maybe(row, 8);
                  if (row.isBad()) return false;
                  out.process_id.push_back(id);
                  out.pid.push_back(pid);
                  out.parent_pid.push_back(parent);
                  out.name.push_back(name);
                  out.command.push_back(command);
                  out.cgroup.push_back(cgroup);
                  out.began_ns.push_back(began);
                  out.ended_ns.push_back(ended);
                  out.exit_status.push_back(status);
                  out.end_reason.push_back(reason);
                  return true;
                });
  }

  base::Status readFunctions(model::RecordedFunctions& out) {
    return rows("functions", {"function_id", "name", "plane", "verb", "kind"},
                "SELECT function_id, name, plane, verb, kind FROM functions NOT INDEXED "
                "ORDER BY function_id",
                [&](Row& row) {
                  int64_t id = row.integer(0);
                  StringId name = text(row, 1), plane = text(row, 2);
                  StringId verb = text(row, 3), kind = text(row, 4);
                  if (row.isBad()) return false;
                  out.function_id.push_back(id);
                  out.name.push_back(name);
                  out.plane.push_back(plane);
                  out.verb.push_back(verb);
                  out.kind.push_back(kind);
                  return true;
                });
  }

  base::Status readLosses(model::RecordedLosses& out) {
    return rows("losses", {"time_ns", "reason", "count"},
                "SELECT time_ns, reason, count FROM losses NOT INDEXED", [&](Row& row) {
                  int64_t time = row.integer(0);
                  StringId reason = text(row, 1);
                  int64_t count = row.integer(2, 0, INT64_MAX);
                  if (row.isBad() || !losses_.fits(count)) return false;
                  losses_.add(count);
                  out.time_ns.push_back(time);
                  out.reason.push_back(reason);
                  out.count.push_back(count);
                  return true;
                });
  }

  // Only NVML provides these: without it, both tables are empty or missing.
  base::Status readDevices(model::RecordedDevices& out) {
    if (!file_.has("devices")) return base::okStatus();
    bool has_link = file_.require("devices", {"pcie_generation", "pcie_lanes"}).ok();
    return rows("devices", {"device", "name", "uuid", "total_bytes"},
                has_link ? "SELECT device, name, uuid, total_bytes, pcie_generation, pcie_lanes "
                           "FROM devices NOT INDEXED ORDER BY device"
                         : "SELECT device, name, uuid, total_bytes, NULL, NULL FROM devices NOT "
                           "INDEXED ORDER BY device",
                [&](Row& row) {
                  int64_t device = row.integer(0, 0, model::kMaxDevices - 1);
                  StringId name = text(row, 1), uuid = text(row, 2);
                  int64_t total = row.integer(3, 0, kMaxDeviceBytes);
                  int64_t generation = maybe(row, 4), lanes = maybe(row, 5);
                  if (row.isBad()) return false;
                  out.pcie_generation.push_back(generation);
                  out.pcie_lanes.push_back(lanes);
                  out.device.push_back(static_cast<int32_t>(device));
                  out.name.push_back(name);
                  out.uuid.push_back(uuid);
                  out.total_bytes.push_back(static_cast<uint64_t>(total));
                  return true;
                });
  }

  base::Status readDeviceMemory(model::RecordedDeviceMemory& out) {
    if (!file_.has("device_memory")) return base::okStatus();
    struct Said {
      int64_t pid, time_ns;
      int32_t device;
      uint64_t used_bytes;
    };
    std::vector<Said> all;
    base::Status status = rows(
        "device_memory", {"time_ns", "device", "pid", "used_bytes"},
        "SELECT time_ns, device, pid, used_bytes FROM device_memory NOT INDEXED", [&](Row& row) {
          int64_t time = row.integer(0), device = row.integer(1, 0, model::kMaxDevices - 1);
          int64_t pid = maybe(row, 2), used = row.integer(3, 0, kMaxDeviceBytes);
          if (row.isBad()) return false;
          all.push_back({pid, time, static_cast<int32_t>(device), static_cast<uint64_t>(used)});
          return true;
        });
    std::stable_sort(all.begin(), all.end(), [](const Said& a, const Said& b) {
      return std::pair(a.pid, a.time_ns) < std::pair(b.pid, b.time_ns);
    });
    for (const Said& it : all) {
      out.time_ns.push_back(it.time_ns);
      out.device.push_back(it.device);
      out.pid.push_back(it.pid);
      out.used_bytes.push_back(it.used_bytes);
    }
    return status;
  }

  // Older recorders did not write this table.
  base::Status readUnwatched(model::RecordedUnwatched& out) {
    if (!file_.has("unwatched")) return base::okStatus();
    bool has_more = false;
    base::Status status = rows(
        "unwatched",
        {"begin_ns", "end_ns", "process_id", "pid", "library", "function", "figures", "reason"},
        "SELECT begin_ns, end_ns, process_id, pid, library, function, figures, reason FROM "
        "unwatched NOT INDEXED",
        [&](Row& row) {
          int64_t begin = maybe(row, 0), end = maybe(row, 1), process = maybe(row, 2),
                  pid = maybe(row, 3);
          StringId library = text(row, 4), function = text(row, 5);
          StringId figures = text(row, 6), reason = text(row, 7);
          if (row.isBad()) return false;
          has_more |= out.size() == kMaxUnwatched;
          if (has_more) return true;
          out.begin_ns.push_back(begin);
          out.end_ns.push_back(end);
          out.process_id.push_back(process);
          out.pid.push_back(pid);
          out.library.push_back(library);
          out.function.push_back(function);
          out.figures.push_back(figures);
          out.reason.push_back(reason);
          return true;
        });
    if (has_more) noteUnread("unwatched", "it has more rows than are looked at", run_, issues_);
    return status;
  }

  // The recording about itself: its beginning and end, and which part of several files it is.
  base::Status readMeta(model::RecordedRun& run) {
    TG_RETURN_IF_ERROR(rows("meta", {"key", "value"},
                            "SELECT key, value FROM meta NOT INDEXED WHERE key IN ('began_ns', "
                            "'ended_ns', 'part', 'continues', 'carried_calls', 'device_times')",
                            [&](Row& row) {
                              std::string key = row.text(0);
                              if (key == "continues") {
                                run.part.continues = row.text(1);
                                return !row.isBad();
                              }
                              int64_t number = row.decimal(1);
                              if (row.isBad()) return false;
                              if (key == "device_times") run.has_device_times = number != 0;
                              if (key == "began_ns") run.began_ns = number;
                              if (key == "ended_ns") run.ended_ns = number;
                              if (key == "part") run.part.number = number;
                              if (key == "carried_calls") run.part.carried_calls = number;
                              return true;
                            }));
    if (run.part.carried_calls == 0) return base::okStatus();
    // All of them have the time at which the previous part ended. Damage is reported where calls
    // are read.
    (void)file_.forEachRow("SELECT end_ns FROM calls NOT INDEXED WHERE call_id = 1", [&](Row& row) {
      int64_t time = row.integer(0);
      if (!row.isBad()) run.part.began_ns = time;
      return false;
    });
    return base::okStatus();
  }

  base::Status readKernels(const WorkOf& work_of) {
    // Older recorders did not write the last column.
    bool has_parameters = file_.require("kernels", {"parameters"}).ok();
    return rows("kernels", {"kernel_id", "process_id", "handle", "name"},
                has_parameters ? "SELECT kernel_id, process_id, handle, name, parameters FROM "
                                 "kernels NOT INDEXED ORDER BY kernel_id"
                               : "SELECT kernel_id, process_id, handle, name, NULL FROM kernels "
                                 "NOT INDEXED ORDER BY kernel_id",
                [&](Row& row) {
                  int64_t id = row.integer(0, 0, kMax32), process = row.integer(1, 0, kMax32 - 1);
                  int64_t handle = row.integer(2);
                  StringId name = text(row, 3);
                  if (row.isBad()) return false;
                  model::RecordedWork* work = work_of(process);
                  if (work == nullptr) return false;
                  if (!name.valid()) {
                    name = strings_.intern(model::namelessKernel(static_cast<uint64_t>(handle)));
                  }
                  work->kernels.kernel_id.push_back(id);
                  work->kernels.handle.push_back(handle);
                  work->kernels.name.push_back(name);
                  work->kernels.parameters.push_back(row.isNull(4) ? StringId()
                                                                   : strings_.intern(row.text(4)));
                  return true;
                });
  }

  base::Status readLaunches(const WorkOf& work_of) {
    KeptRows<model::RecordedLaunches>& kept = kept_->launches;
    askAgain(kept, work_of);
    std::string sql = newRowsOf(
        "launches",
        "begin_ns, end_ns, process_id, kernel_id, function_id, grid_x, grid_y, grid_z, block_x, "
        "block_y, block_z, count",
        kept.last_row);
    TG_RETURN_IF_ERROR(
        rows("launches",
             {"begin_ns", "end_ns", "process_id", "kernel_id", "function_id", "grid_x", "grid_y",
              "grid_z", "block_x", "block_y", "block_z", "count"},
             sql.c_str(), [&](Row& row) {
               int64_t begin = row.integer(0, 0, INT64_MAX), end = row.integer(1, 0, INT64_MAX);
               int64_t process = row.integer(2, 0, kMax32 - 1);
               int64_t kernel = row.integer(3, 0, kMax32), function = row.integer(4);
               std::array<int64_t, 6> shape{};
               for (int i = 0; i < 6; ++i) shape[i] = row.integer(5 + i, 0, kMax32);
               int64_t count = row.integer(11, 0, INT64_MAX);
               kept.last_row = row.integer(12);
               bool fits = kept_->sum_of_launches.fits(count);
               bool is_good = !row.isBad() && end >= begin && fits && work_of(process) != nullptr;
               kept_->continues &= is_good;
               if (!is_good) return false;
               kept_->sum_of_launches.add(count);
               model::RecordedLaunches& out = kept.of(process);
               out.begin_ns.push_back(begin);
               out.end_ns.push_back(end);
               out.kernel_id.push_back(kernel);
               out.function_id.push_back(function);
               for (size_t i = 0; i < 3; ++i) {
                 out.grid[i].push_back(shape[i]);
                 out.block[i].push_back(shape[3 + i]);
               }
               out.count.push_back(count);
               return true;
             }));
    for (const auto& [process, columns] : kept.processes)
      if (model::RecordedWork* work = work_of(process)) work->launches = columns;
    return base::okStatus();
  }

  // Only if the recorder was asked for them; `stack` keeps the file's numbers.
  base::Status readLaunchEvents(const WorkOf& work_of) {
    if (!file_.has("launch_events")) return base::okStatus();
    bool has_parameters = file_.require("launch_events", {"parameters"}).ok();
    constexpr const char* kColumns =
        "SELECT time_ns, process_id, thread, kernel_id, function_id, grid_x, grid_y, grid_z, "
        "block_x, block_y, block_z, shared_bytes, stream, device, stack_id, arguments, {} FROM "
        "launch_events NOT INDEXED ORDER BY time_ns, rowid";
    std::string sql = fmt::format(fmt::runtime(kColumns), has_parameters ? "parameters" : "NULL");
    return rows(
        "launch_events",
        {"time_ns", "process_id", "thread", "kernel_id", "function_id", "grid_x", "grid_y",
         "grid_z", "block_x", "block_y", "block_z", "shared_bytes", "stream", "device", "stack_id",
         "arguments"},
        sql.c_str(), [&](Row& row) {
          int64_t time = row.integer(0, 0, INT64_MAX), process = row.integer(1, 0, kMax32 - 1);
          int64_t thread = row.integer(2, 0, kMax32), kernel = row.integer(3, 0, kMax32);
          int64_t function = row.integer(4);
          std::array<uint32_t, 7> shape{};
          for (int i = 0; i < 7; ++i)
            shape[i] = static_cast<uint32_t>(row.integer(5 + i, 0, kMax32));
          uint64_t stream = row.word(12);
          int64_t device = row.maybeInteger(13).value_or(model::kUnknownDevice);
          int64_t stack = maybe(row, 14);
          std::span<const uint8_t> arguments = row.bytes(15, kMaxArgumentBytes);
          int64_t parameters = row.maybeInteger(16).value_or(arguments.empty() ? kNotRecorded : -1);
          bool fits = device >= model::kUnknownDevice && device < model::kMaxDevices &&
                      (stack == kNotRecorded || (stack >= 0 && stack < kMax32 - 1)) &&
                      (parameters == kNotRecorded || (parameters >= -1 && parameters <= kMax32));
          if (row.isBad() || !fits) return false;
          model::RecordedWork* work = work_of(process);
          if (work == nullptr) return false;
          model::RecordedLaunchEvents& out = work->launch_events;
          out.time_ns.push_back(time);
          out.thread.push_back(thread);
          out.kernel_id.push_back(kernel);
          out.function_id.push_back(function);
          for (size_t i = 0; i < 3; ++i) {
            out.grid[i].push_back(shape[i]);
            out.block[i].push_back(shape[3 + i]);
          }
          out.shared_bytes.push_back(shape[6]);
          out.stream.push_back(stream);
          out.device.push_back(static_cast<int32_t>(device));
          out.stack.push_back(stack == kNotRecorded ? model::StackId()
                                                    : model::StackId(static_cast<uint32_t>(stack)));
          out.argument_bytes.insert(out.argument_bytes.end(), arguments.begin(), arguments.end());
          out.arguments_end.push_back(out.argument_bytes.size());
          out.parameters.push_back(parameters);
          return true;
        });
  }

  // Only if the recorder was asked for them (--device-times).
  base::Status readDevicePrograms(model::RecordedDevicePrograms& out) {
    if (!file_.has("device_programs")) return base::okStatus();
    return rows("device_programs",
                {"time_ns", "process_id", "pid", "outcome", "reason", "library", "version",
                 "clock_error_ns"},
                "SELECT time_ns, process_id, pid, outcome, reason, library, version, "
                "clock_error_ns FROM device_programs NOT INDEXED ORDER BY time_ns, rowid",
                [&](Row& row) {
                  int64_t time = row.integer(0), process = maybe(row, 1);
                  int64_t pid = row.integer(2, 0, kMax32);
                  StringId outcome = text(row, 3), reason = text(row, 4), library = text(row, 5);
                  int64_t version = maybe(row, 6), error = row.integer(7, 0, INT64_MAX);
                  if (row.isBad() || !outcome.valid() || out.size() >= kMaxDevicePrograms)
                    return false;
                  out.time_ns.push_back(time);
                  out.process_id.push_back(process);
                  out.pid.push_back(pid);
                  out.outcome.push_back(outcome);
                  out.reason.push_back(reason);
                  out.library.push_back(library);
                  out.version.push_back(version);
                  out.clock_error_ns.push_back(error);
                  return true;
                });
  }

  base::Status readDeviceActivities(const WorkOf& work_of) {
    if (!file_.has("device_activities")) return base::okStatus();
    std::unordered_map<int64_t, StringId> names;
    TG_RETURN_IF_ERROR(rows("device_names", {"name_id", "name"},
                            "SELECT name_id, name FROM device_names NOT INDEXED", [&](Row& row) {
                              int64_t id = row.integer(0, 0, kMax32);
                              StringId name = text(row, 1);
                              if (row.isBad()) return false;
                              return names.try_emplace(id, name).second;
                            }));
    return rows(
        "device_activities",
        {"start_ns", "end_ns", "process_id", "kind", "direction", "device", "context", "stream",
         "size_bytes", "correlation", "name_id"},
        "SELECT start_ns, end_ns, process_id, kind, direction, device, context, stream, "
        "size_bytes, correlation, name_id FROM device_activities NOT INDEXED ORDER BY start_ns, "
        "rowid",
        [&](Row& row) {
          int64_t start = row.integer(0, 0, INT64_MAX), end = row.integer(1, 0, INT64_MAX);
          int64_t process = row.integer(2, 0, kMax32 - 1);
          std::string word = row.text(3);
          StringId direction = text(row, 4);
          int64_t device = row.integer(5, 0, model::kMaxDevices - 1);
          int64_t context = row.integer(6, 0, kMax32), stream = row.integer(7, 0, kMax32);
          int64_t bytes = maybe(row, 8), correlation = row.integer(9, 0, kMax32);
          int64_t name_id = maybe(row, 10);
          bool is_kernel = word == "kernel";
          bool fits = (is_kernel || word == "copy" || word == "set") &&
                      is_kernel == !direction.valid() && is_kernel == (bytes == kNotRecorded) &&
                      (is_kernel || (bytes >= 0 && device_bytes_.fits(bytes)));
          if (row.isBad() || !fits || end < start || !device_ns_.fits(end - start)) return false;
          model::RecordedWork* work = work_of(process);
          if (work == nullptr) return false;
          device_ns_.add(end - start);
          if (!is_kernel) device_bytes_.add(bytes);
          auto name = names.find(name_id);
          model::RecordedDeviceActivities& out = work->device_activities;
          out.start_ns.push_back(start);
          out.end_ns.push_back(end);
          out.kind.push_back(is_kernel        ? model::DeviceWork::kKernel
                             : word == "copy" ? model::DeviceWork::kCopy
                                              : model::DeviceWork::kSet);
          out.direction.push_back(direction);
          out.device.push_back(static_cast<int32_t>(device));
          out.context.push_back(static_cast<uint32_t>(context));
          out.stream.push_back(static_cast<uint32_t>(stream));
          out.correlation.push_back(static_cast<uint32_t>(correlation));
          out.size_bytes.push_back(bytes);
          out.name.push_back(name == names.end() ? StringId() : name->second);
          return true;
        });
  }

  base::Status readCopies(const WorkOf& work_of) {
    KeptRows<model::RecordedCopies>& kept = kept_->copies;
    askAgain(kept, work_of);
    std::string sql = newRowsOf(
        "copies",
        "begin_ns, end_ns, process_id, direction, function_id, submitted, count, size_bytes, "
        "host_ns, failures",
        kept.last_row);
    TG_RETURN_IF_ERROR(rows("copies",
                            {"begin_ns", "end_ns", "process_id", "direction", "function_id",
                             "submitted", "count", "size_bytes", "host_ns", "failures"},
                            sql.c_str(), [&](Row& row) {
                              int64_t begin = row.integer(0, 0, INT64_MAX),
                                      end = row.integer(1, 0, INT64_MAX);
                              int64_t process = row.integer(2, 0, kMax32 - 1);
                              std::string direction = row.text(3);
                              int64_t function = row.integer(4);
                              bool submitted = row.integer(5, 0, 1) == 1;
                              std::array<int64_t, 4> sums{};
                              bool fit = true;
                              for (size_t i = 0; i < sums.size(); ++i) {
                                sums[i] = row.integer(6 + static_cast<int>(i), 0, INT64_MAX);
                                fit &= kept_->sums_of_copies[i].fits(sums[i]);
                              }
                              kept.last_row = row.integer(10);
                              bool is_good = !row.isBad() && end >= begin && !direction.empty() &&
                                             fit && work_of(process) != nullptr;
                              kept_->continues &= is_good;
                              if (!is_good) return false;
                              for (size_t i = 0; i < sums.size(); ++i)
                                kept_->sums_of_copies[i].add(sums[i]);
                              model::RecordedCopies& out = kept.of(process);
                              out.begin_ns.push_back(begin);
                              out.end_ns.push_back(end);
                              out.direction.push_back(kept_->directions.intern(direction));
                              out.function_id.push_back(function);
                              out.submitted.push_back(submitted);
                              out.count.push_back(sums[0]);
                              out.size_bytes.push_back(sums[1]);
                              out.host_ns.push_back(sums[2]);
                              out.failures.push_back(sums[3]);
                              return true;
                            }));
    // The run's texts are others in each reading; they are numbered by their first row of all.
    for (uint32_t i = 0; i < kept_->directions.size(); ++i)
      strings_.intern(kept_->directions.text(StringId(i)));
    for (const auto& [process, columns] : kept.processes) {
      model::RecordedWork* work = work_of(process);
      if (work == nullptr) continue;
      work->copies = columns;
      for (StringId& direction : work->copies.direction)
        direction = strings_.intern(kept_->directions.text(direction));
    }
    return base::okStatus();
  }

 private:
  // Processes whose rows were read are found in the order in which they were.
  template <class Columns>
  void askAgain(const KeptRows<Columns>& kept, const WorkOf& work_of) {
    for (const auto& [process, columns] : kept.processes)
      kept_->continues &= work_of(process) != nullptr;
  }

  // The number of the row comes last. A table of another program may have none.
  std::string newRowsOf(const char* table, const char* columns, int64_t last_row) {
    auto nothing = [](Row&) { return false; };
    bool has_numbers =
        file_.forEachRow(fmt::format("SELECT rowid FROM {}", table).c_str(), nothing).ok();
    kept_->continues &= has_numbers;
    if (!has_numbers) return fmt::format("SELECT {}, 0 FROM {} NOT INDEXED", columns, table);
    std::string which = last_row == INT64_MIN ? "" : fmt::format(" WHERE rowid > {}", last_row);
    return fmt::format("SELECT {}, rowid FROM {} NOT INDEXED{}", columns, table, which);
  }

  StringId text(Row& row, int column) {
    std::string text = row.text(column);
    return text.empty() ? StringId() : strings_.intern(text);
  }
  static int64_t maybe(Row& row, int column) {
    return row.maybeInteger(column).value_or(kNotRecorded);
  }

  // `take` returns false for an invalid row. Rows before damage are valid.
  template <class Take>
  base::Status rows(const char* table, std::initializer_list<std::string_view> columns,
                    const char* sql, const Take& take) {
    if (base::Status there = file_.require(table, columns); !there.ok()) {
      noteUnread(table, there.error().what, run_, issues_);
      return base::okStatus();
    }
    base::Status status = file_.forEachRow(sql, [&](Row& row) {
      if (!take(row)) notePassedOver(table, run_, issues_);
      return true;
    });
    if (!status.ok()) noteUnread(table, status.error().what, run_, issues_);
    return base::okStatus();
  }

  SqliteFile& file_;
  model::RecordedRun& run_;
  base::StringPool& strings_;
  model::Issues& issues_;
  KeptWork* kept_ = nullptr;  // for launches and copies
  SumLimit losses_, device_ns_, device_bytes_;
};

}  // namespace

void noteUnread(const char* table, const std::string& why, model::RecordedRun& run,
                model::Issues& issues) {
  run.unread.push_back({table, why});
  issues.add({.kind = model::IssueKind::kIncompleteRecording,
              .detail = fmt::format("table {} cannot be read: {}", table, why)});
}

void notePassedOver(const char* table, model::RecordedRun& run, model::Issues& issues) {
  issues.add({.kind = model::IssueKind::kContradictoryRow, .detail = table});
  auto known = std::find_if(run.passed_over.begin(), run.passed_over.end(),
                            [&](const auto& it) { return it.table == table; });
  if (known == run.passed_over.end()) known = run.passed_over.insert(known, {table, 0});
  ++known->rows;
}

base::Result<model::RecordedRun> readRun(SqliteFile& file, model::Issues& issues) {
  model::RecordedRun run;
  WorkReader reader(file, run, issues);
  TG_RETURN_IF_ERROR(reader.readProcesses(run.processes));
  TG_RETURN_IF_ERROR(reader.readFunctions(run.functions));
  TG_RETURN_IF_ERROR(reader.readLosses(run.losses));
  TG_RETURN_IF_ERROR(reader.readUnwatched(run.unwatched));
  TG_RETURN_IF_ERROR(reader.readDevices(run.devices));
  TG_RETURN_IF_ERROR(reader.readDeviceMemory(run.device_memory));
  TG_RETURN_IF_ERROR(reader.readDevicePrograms(run.device_programs));
  TG_RETURN_IF_ERROR(reader.readMeta(run));
  model::fillWatched(run);
  return run;
}

base::Status readWork(SqliteFile& file, model::RecordedRun& run, model::Issues& issues,
                      const WorkOf& work_of, KeptWork& kept) {
  size_t unread = run.unread.size();
  WorkReader reader(file, run, issues, kept);
  TG_RETURN_IF_ERROR(reader.readKernels(work_of));
  TG_RETURN_IF_ERROR(reader.readLaunches(work_of));
  TG_RETURN_IF_ERROR(reader.readLaunchEvents(work_of));
  TG_RETURN_IF_ERROR(reader.readDeviceActivities(work_of));
  TG_RETURN_IF_ERROR(reader.readCopies(work_of));
  kept.continues &= run.unread.size() == unread;
  return base::okStatus();
}

}  // namespace tidegauge::readers::recording
