// RecordedWork: what a recording says about a program beside its memory: kernels and how often they
// were launched, copies; and about the whole recording: programs that ran, functions, losses.
//
//   run.sqlite ─► RecordedRun   processes, functions, losses       one, shared by all traces
//              ├► RecordedWork  kernels, launches, copies of pid 41   of the trace "pid 41 trainer"
//              └► RecordedWork  … of pid 57                           of the trace "pid 57 server"
//
// Passive columns, named and measured as the tables of docs/formats/recording.md. Cost: 92 bytes
// per row of launches, 68 per row of copies.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/string_pool.h"
#include "model/driver_memory.h"
#include "model/memory_call.h"
#include "model/trace.h"

namespace tidegauge::model {

inline constexpr int64_t kNotRecorded = std::numeric_limits<int64_t>::min();  // NULL in the file

struct RecordedProcesses {
  std::vector<int64_t> process_id, pid;
  std::vector<int64_t> parent_pid;  // this and the five below: maybe kNotRecorded
  std::vector<base::StringId> name;
  std::vector<base::StringId> command;  // invalid: not known
  std::vector<int64_t> cgroup;
  std::vector<int64_t> began_ns, ended_ns, exit_status;
  std::vector<base::StringId> end_reason;  // invalid: it runs
  // Filled by fillWatched(): since when it was watched, till when (kNotRecorded: that is to come),
  // and whether it ran before.
  std::vector<int64_t> watched_from_ns, watched_to_ns;
  std::vector<uint8_t> ran_before;

  size_t size() const { return process_id.size(); }
};

struct RecordedFunctions {
  std::vector<int64_t> function_id;
  std::vector<base::StringId> name, plane;
  std::vector<base::StringId> verb, kind;  // invalid: of a copy or a launch

  size_t size() const { return function_id.size(); }
};

struct RecordedLosses {
  std::vector<int64_t> time_ns;
  std::vector<base::StringId> reason;
  std::vector<int64_t> count;

  size_t size() const { return time_ns.size(); }
};

// What was there and not watched: see model/incomplete.h.
struct RecordedUnwatched {
  std::vector<int64_t> begin_ns, end_ns;  // maybe kNotRecorded: from its beginning, to its end
  std::vector<int64_t> process_id;        // kNotRecorded: made no call that was seen
  std::vector<int64_t> pid;               // kNotRecorded, and so process_id: of every process
  std::vector<base::StringId> library, function;  // invalid: all of it
  std::vector<base::StringId> figures, reason;

  size_t size() const { return reason.size(); }
};

// What the driver itself said is used, by pid and time. A row stands until the next of its device
// and pid.
struct RecordedDeviceMemory {
  std::vector<int64_t> time_ns;
  std::vector<int32_t> device;  // as NVML numbers them
  std::vector<int64_t> pid;     // kNotRecorded: all of the device
  std::vector<uint64_t> used_bytes;

  size_t size() const { return time_ns.size(); }
};

// A GPU that the driver told of.
struct RecordedDevices {
  std::vector<int32_t> device;  // as NVML numbers them: by bus
  std::vector<base::StringId> name, uuid;
  std::vector<uint64_t> total_bytes;

  size_t size() const { return device.size(); }
};

// A recording with --max-size: one of several files.
struct RecordedPart {
  int64_t number = 0;     // from 1; 0: it is not known to be a part
  std::string continues;  // name of the file that the part before was renamed to
  int64_t carried_calls = 0;
  std::optional<int64_t> began_ns;  // time of the last call of the part before
};

// A table that is damaged or missing: what is behind the damage is not there.
struct UnreadTable {
  std::string table, why;
};

// Rows that contradict the rest of their file, by table.
struct PassedOverRows {
  std::string table;
  uint64_t rows = 0;
};

struct RecordedRun {
  base::StringPool strings;  // of these tables and of every RecordedWork
  RecordedProcesses processes;
  RecordedFunctions functions;  // by function_id
  RecordedLosses losses;
  RecordedUnwatched unwatched;
  RecordedDevices devices;
  RecordedDeviceMemory device_memory;
  RecordedPart part;
  std::vector<UnreadTable> unread;
  std::vector<PassedOverRows> passed_over;
  bool is_cut_short = false;        // the file ends inside a page: what was behind is not there
  std::optional<int64_t> began_ns;  // none: a recorder of before did not say
  std::optional<int64_t> ended_ns;  // the recorder's own last word; none: it runs, or was killed
};

struct RecordedKernels {
  std::vector<int64_t> kernel_id, handle;
  std::vector<base::StringId> name;  // "kernel at 0x7f00 (no name)" if not known

  size_t size() const { return kernel_id.size(); }
};

// Launches of one kernel and geometry, counted from begin_ns to end_ns.
struct RecordedLaunches {
  std::vector<int64_t> begin_ns, end_ns, kernel_id, function_id;
  std::array<std::vector<int64_t>, 3> grid, block;
  std::vector<int64_t> count;

  size_t size() const { return count.size(); }
};

// Copies of one direction and function, counted from begin_ns to end_ns.
struct RecordedCopies {
  std::vector<int64_t> begin_ns, end_ns;
  std::vector<base::StringId> direction;
  std::vector<int64_t> function_id;
  std::vector<bool> submitted;  // host_ns is the time of the call, not of the transfer
  std::vector<int64_t> count, size_bytes, host_ns, failures;

  size_t size() const { return count.size(); }
};

// Calls that were refused, by function, code, size and stack. Texts and stacks are of the trace.
struct RecordedRefusals {
  std::vector<base::StringId> function;
  std::vector<int32_t> code;
  std::vector<MemoryKind> kind;
  std::vector<int32_t> device;  // kUnknownDevice: not known
  std::vector<uint64_t> size_bytes;
  std::vector<StackId> stack;
  std::vector<int64_t> first_ns;
  std::vector<uint64_t> count;

  size_t size() const { return code.size(); }
};

// Out-of-memory events that stand for several refusals: one thread asked for the same again, each
// time within a second. The event is the last of them.
struct RecordedRefusalRows {
  std::vector<uint64_t> event;  // of the trace, ascending
  std::vector<uint64_t> count;  // 2 or more
  std::vector<int64_t> first_ns;
};

// What was live when the process ended, or after the last call if it ran on: memory of the driver
// and (kBlock) blocks of the framework inside it, by stack. Most bytes first.
struct RecordedHoldings {
  std::vector<MemoryKind> kind;
  std::vector<int32_t> device;
  std::vector<uint64_t> bytes, count;
  std::vector<StackId> stack;
  std::vector<int64_t> oldest_ns;

  size_t size() const { return bytes.size(); }
};

// What the driver said that a process used on all devices when that was most, and what calls had
// handed out to it by then: the rest are its contexts, modules and what no call tells.
struct DriversFigure {
  int64_t time_ns = 0;
  uint64_t used_bytes = 0;
  uint64_t recorded_bytes = 0;
  bool has_managed = false;  // recorded_bytes need not lie on a device
};

// What the driver told the program that was free, as cuMemGetInfo does. By time.
struct DriversAnswers {
  std::vector<int64_t> time_ns;
  std::vector<int32_t> device;
  std::vector<uint64_t> free_bytes, total_bytes;

  size_t size() const { return time_ns.size(); }
};

struct RecordedWork {
  std::shared_ptr<const RecordedRun> run;
  int64_t process_id = 0;
  RecordedKernels kernels;
  RecordedLaunches launches;
  RecordedCopies copies;
  RecordedRefusals refused{};
  RecordedRefusalRows refused_in_row{};
  RecordedHoldings held{};
  std::vector<base::StringId> frame_modules{};  // by FrameId: the file it is code of; of the trace
  std::optional<DriversFigure> drivers_figure{};
  DriversAnswers answers{};
  std::vector<int32_t> at_least{};  // devices, see isAtLeast()
  bool has_blocks = false;          // a framework's, inside memory of the driver, were seen
  DriverMemory driver{};            // only where it was asked for
};

// The row of a program; none: it is not among them.
inline std::optional<size_t> rowOf(const RecordedProcesses& processes, int64_t process_id) {
  const std::vector<int64_t>& ids = processes.process_id;  // ascending
  auto at = std::lower_bound(ids.begin(), ids.end(), process_id);
  if (at == ids.end() || *at != process_id) return std::nullopt;
  return static_cast<size_t>(at - ids.begin());
}

// The row of the run's processes that this work is of; none: that program is not among them.
inline std::optional<size_t> ownRow(const RecordedWork& work) {
  return rowOf(work.run->processes, work.process_id);
}

// The process had memory on the device before it was watched. Of that only what its calls showed is
// known, so totals are lower bounds.
inline bool isAtLeast(const Trace& trace, int32_t device) {
  if (!trace.work) return false;
  const std::vector<int32_t>& devices = trace.work->at_least;
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

}  // namespace tidegauge::model
