// RecordedWork: a recording's facts about a program beside memory: kernels and their launches,
// copies. RecordedRun: those about the whole recording: programs, functions, losses.
//
//   run.sqlite ─► RecordedRun   processes, functions, losses       one, shared by all traces
//              ├► RecordedWork  kernels, launches, copies of pid 41   of the trace "pid 41 trainer"
//              └► RecordedWork  … of pid 57                           of the trace "pid 57 server"
//
// Plain columns, with names and units of the tables of docs/formats/recording.md. Cost: 92 bytes
// per row of launches, 68 per row of copies, 104 and its arguments per single launch.
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
  std::vector<int64_t> parent_pid;  // this and the five below may be kNotRecorded
  std::vector<base::StringId> name;
  std::vector<base::StringId> command;  // invalid: unknown
  std::vector<int64_t> cgroup;
  std::vector<int64_t> began_ns, ended_ns, exit_status;
  std::vector<base::StringId> end_reason;  // invalid: it is running
  // Filled by fillWatched(): when it was first watched, until when (kNotRecorded: still watched),
  // and whether it ran before.
  std::vector<int64_t> watched_from_ns, watched_to_ns;
  std::vector<uint8_t> ran_before;

  size_t size() const { return process_id.size(); }
};

struct RecordedFunctions {
  std::vector<int64_t> function_id;
  std::vector<base::StringId> name, plane;
  std::vector<base::StringId> verb, kind;  // invalid: a copy or a launch

  size_t size() const { return function_id.size(); }
};

struct RecordedLosses {
  std::vector<int64_t> time_ns;
  std::vector<base::StringId> reason;
  std::vector<int64_t> count;

  size_t size() const { return time_ns.size(); }
};

// What existed and was not watched: see model/incomplete.h.
struct RecordedUnwatched {
  std::vector<int64_t> begin_ns, end_ns;  // kNotRecorded: from its beginning, to its end
  std::vector<int64_t> process_id;        // kNotRecorded: it made no recorded call
  std::vector<int64_t> pid;               // kNotRecorded (process_id as well): every process
  std::vector<base::StringId> library, function;  // invalid: all of it
  std::vector<base::StringId> figures, reason;

  size_t size() const { return reason.size(); }
};

// Used memory as the driver reported it, by pid and time. A row applies until the next of its
// device and pid.
struct RecordedDeviceMemory {
  std::vector<int64_t> time_ns;
  std::vector<int32_t> device;  // as NVML numbers them
  std::vector<int64_t> pid;     // kNotRecorded: the whole device
  std::vector<uint64_t> used_bytes;

  size_t size() const { return time_ns.size(); }
};

// A GPU that the driver reported.
struct RecordedDevices {
  std::vector<int32_t> device;  // as NVML numbers them: by bus
  std::vector<base::StringId> name, uuid;
  std::vector<uint64_t> total_bytes;
  std::vector<int64_t> pcie_generation, pcie_lanes;  // of its link; kNotRecorded: unknown

  size_t size() const { return device.size(); }
};

// What became of --device-times in each program that loaded its library.
struct RecordedDevicePrograms {
  std::vector<int64_t> time_ns, process_id, pid;  // process_id may be kNotRecorded
  std::vector<base::StringId> outcome, reason, library;
  std::vector<int64_t> version, clock_error_ns;  // version: kNotRecorded: unknown

  size_t size() const { return time_ns.size(); }
};

// A recording with --max-size: one of several files.
struct RecordedPart {
  int64_t number = 0;     // from 1; 0: it is not known to be a part
  std::string continues;  // name of the file that the part before was renamed to
  int64_t carried_calls = 0;
  std::optional<int64_t> began_ns;  // time of the last call of the part before
};

// A damaged or missing table: the rows after the damage are missing.
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
  std::vector<int64_t> traced;  // ascending: processes with a recorded call, launch or copy
  RecordedDevices devices;
  RecordedDeviceMemory device_memory;
  RecordedDevicePrograms device_programs;
  bool has_device_times = false;  // they were asked for
  RecordedPart part;
  std::vector<UnreadTable> unread;
  std::vector<PassedOverRows> passed_over;
  bool is_cut_short = false;        // the file ends inside a page: the rest is missing
  std::optional<int64_t> began_ns;  // absent: an older recorder did not record it
  // the last entry of the recorder; absent: it runs, or was killed
  std::optional<int64_t> ended_ns;
  bool was_killed = false;  // the recorder: it left its journal, and no end; or this is a copy

  bool hasTrace(int64_t process_id) const {
    return std::binary_search(traced.begin(), traced.end(), process_id);
  }
};

struct RecordedKernels {
  std::vector<int64_t> kernel_id, handle;
  std::vector<base::StringId> name;  // "kernel at 0x7f00 (no name)" if unknown
  // "0:8 8:4": offset and size of each parameter; empty: it has none; invalid: not known.
  std::vector<base::StringId> parameters;

  size_t size() const { return kernel_id.size(); }
};

// Launches of one kernel and geometry, counted from begin_ns to end_ns.
struct RecordedLaunches {
  std::vector<int64_t> begin_ns, end_ns, kernel_id, function_id;
  std::array<std::vector<int64_t>, 3> grid, block;
  std::vector<int64_t> count;

  size_t size() const { return count.size(); }
};

// Single launches, by time; only if the recorder was asked for them.
struct RecordedLaunchEvents {
  std::vector<int64_t> time_ns, thread, kernel_id, function_id;
  std::array<std::vector<uint32_t>, 3> grid, block;
  std::vector<uint32_t> shared_bytes;
  std::vector<uint64_t> stream;
  std::vector<int32_t> device;          // kUnknownDevice: unknown
  std::vector<StackId> stack;           // of the trace; invalid: none
  std::vector<uint8_t> argument_bytes;  // of all rows, one after the other
  std::vector<uint64_t> arguments_end;  // by row, in argument_bytes
  // How many parameters of its kernel a row has; −1: they were not known, and its arguments are
  // words of 8 bytes each; kNotRecorded: arguments were not asked for.
  std::vector<int64_t> parameters;

  size_t size() const { return time_ns.size(); }
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

// Refused calls, by function, code, size and stack. Texts and stacks are in the trace.
struct RecordedRefusals {
  std::vector<base::StringId> function;
  std::vector<int32_t> code;
  std::vector<MemoryKind> kind;
  std::vector<int32_t> device;  // kUnknownDevice: unknown
  std::vector<uint64_t> size_bytes;
  std::vector<StackId> stack;
  std::vector<int64_t> first_ns;
  std::vector<uint64_t> count;

  size_t size() const { return code.size(); }
};

// Out-of-memory events that stand for several refusals: one thread repeated the same request, each
// time within a second. The event is the last of them.
struct RecordedRefusalRows {
  std::vector<uint64_t> event;  // of the trace, ascending
  std::vector<uint64_t> count;  // 2 or more
  std::vector<int64_t> first_ns;
};

// What was live when the process ended, or after the last call if it kept running: memory of the
// driver and (kBlock) blocks of the framework inside it, by stack. Most bytes first.
struct RecordedHoldings {
  std::vector<MemoryKind> kind;
  std::vector<int32_t> device;
  std::vector<uint64_t> bytes, count;
  std::vector<StackId> stack;
  std::vector<int64_t> oldest_ns;

  size_t size() const { return bytes.size(); }
};

// The highest use of a process on all devices as the driver reported it, and the bytes that calls
// had allocated by then. The rest are its contexts, modules and whatever no call shows.
struct DriversFigure {
  int64_t time_ns = 0;
  uint64_t used_bytes = 0;
  uint64_t recorded_bytes = 0;
  bool has_managed = false;  // recorded_bytes may not be on a device
};

// The free memory that the driver reported to the program, as by cuMemGetInfo. By time.
struct DriversAnswers {
  std::vector<int64_t> time_ns;
  std::vector<int32_t> device;
  std::vector<uint64_t> free_bytes, total_bytes;

  size_t size() const { return time_ns.size(); }
};

// How much higher or lower the true peaks of a device may be than those of its events: the order in
// which calls that ran at the same time took effect is not known (decisions/0030).
struct PeakSlack {
  int32_t device = 0;
  uint64_t active_bytes = 0;  // allocated and requested, too
  uint64_t reserved_bytes = 0;
  uint64_t moment_bytes = 0;  // the same of the sums, and of a range's peaks: never less
};

// What the device did, by its own clock (--device-times). By start.
enum class DeviceWork : uint8_t { kKernel, kCopy, kSet };
struct RecordedDeviceActivities {
  std::vector<int64_t> start_ns, end_ns;
  std::vector<DeviceWork> kind;
  std::vector<base::StringId> direction;  // invalid: a kernel
  std::vector<int32_t> device;            // as the program numbers them
  std::vector<uint32_t> context, stream, correlation;
  std::vector<int64_t> size_bytes;   // kNotRecorded: a kernel
  std::vector<base::StringId> name;  // of a kernel; invalid: unknown

  size_t size() const { return start_ns.size(); }
};

struct RecordedWork {
  std::shared_ptr<const RecordedRun> run;
  int64_t process_id = 0;
  RecordedKernels kernels;
  RecordedLaunches launches;
  RecordedLaunchEvents launch_events{};
  RecordedCopies copies;
  RecordedDeviceActivities device_activities{};
  RecordedRefusals refused{};
  RecordedRefusalRows refused_in_row{};
  RecordedHoldings held{};
  // by FrameId: the file that contains its code; strings of the trace
  std::vector<base::StringId> frame_modules{};
  std::optional<DriversFigure> drivers_figure{};
  DriversAnswers answers{};
  std::vector<int32_t> at_least{};       // devices, see isAtLeast()
  bool has_blocks = false;               // blocks of a framework, inside driver memory, were seen
  DriverMemory driver{};                 // only if requested
  std::vector<PeakSlack> peak_slacks{};  // of devices on which calls overlapped
};

// The row of a program; absent if it is not among them.
inline std::optional<size_t> rowOf(const RecordedProcesses& processes, int64_t process_id) {
  const std::vector<int64_t>& ids = processes.process_id;  // ascending
  auto at = std::lower_bound(ids.begin(), ids.end(), process_id);
  if (at == ids.end() || *at != process_id) return std::nullopt;
  return static_cast<size_t>(at - ids.begin());
}

// This work's row in the run's processes; absent: that program is not among them.
inline std::optional<size_t> ownRow(const RecordedWork& work) {
  return rowOf(work.run->processes, work.process_id);
}

// The process had memory on the device before it was watched. Only the part that its calls showed
// is known, so totals are lower bounds.
inline bool isAtLeast(const Trace& trace, int32_t device) {
  if (!trace.work) return false;
  const std::vector<int32_t>& devices = trace.work->at_least;
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

inline PeakSlack peakSlackOf(const Trace& trace, int32_t device) {
  if (!trace.work) return {};
  const std::vector<PeakSlack>& all = trace.work->peak_slacks;
  auto at = std::find_if(all.begin(), all.end(), [&](auto& it) { return it.device == device; });
  return at == all.end() ? PeakSlack{} : *at;
}

}  // namespace tidegauge::model
