// LiveSnapshot: the current figures, immutable: processes, holders, launches, copies, refused
// calls, losses. LiveSource provides them: a recording file that is followed, or a running
// recorder.
//
//   recording.sqlite ─► RecordingFollower ─┐
//                                          ├─ LiveSource::look(wish) ─► LiveSnapshot ─► Live view
//   monitor ─► Session ─► LiveBook ────────┘
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/call_site.h"
#include "model/incomplete.h"
#include "model/memory_call.h"

namespace tidegauge::model {

enum class LiveState : uint8_t {
  kRecording,  // a file being written
  kFinished,   // a file that its recorder ended cleanly
  kAbandoned,  // a file without an end whose recorder has died
  kMonitor,    // no file
};
enum class LiveWindow : uint8_t { kMinute, kTenMinutes, kWhole };

struct LiveWish {
  std::optional<uint32_t> process;  // index: stacks, kernels, copies and failures of this one only
  LiveWindow window = LiveWindow::kTenMinutes;
  uint32_t columns = 300;  // of lines
};

// Device memory of one process on one device, or of all its processes.
struct LiveDevice {
  int32_t device = kUnknownDevice;
  uint64_t live_bytes = 0, peak_bytes = 0;
  uint32_t processes = 0;  // with memory on it
};

struct LiveRow {  // one process
  uint32_t process = 0, pid = 0;
  std::string name, command;
  int64_t began_ns = 0;
  std::optional<int64_t> ended_ns;
  uint64_t live_bytes = 0, peak_bytes = 0, host_bytes = 0, unfreed_bytes = 0;
  std::optional<uint64_t> framework_reserved_bytes, framework_used_bytes;  // absent: none was seen
  bool at_least = false;  // it had memory before it was watched: bytes are lower bounds
  uint64_t allocations = 0, frees = 0, launches = 0, failures = 0;
  uint64_t copies = 0, copied_to_device_bytes = 0, copied_to_host_bytes = 0;
  double allocations_per_s = 0, launches_per_s = 0;
  double to_device_bytes_per_s = 0, to_host_bytes_per_s = 0;
  bool is_average = false;  // the rates cover its whole life: it has ended
  std::vector<LiveDevice> devices;
  FigureSet incomplete;
  // most live bytes in equal parts of the window; −1: not running
  std::vector<int64_t> spark, line;
};

struct LiveStack {
  uint32_t process = 0;
  int32_t device = kUnknownDevice;
  MemoryKind kind = MemoryKind::kDevice;
  uint64_t bytes = 0, blocks = 0;
  StackWords stack;  // no frames: none was recorded
};
struct LiveKernel {
  uint32_t process = 0;
  std::string name;
  uint64_t launches = 0;
  double per_s = 0;
};
struct LiveCopies {  // in one direction
  std::string direction;
  uint64_t calls = 0, bytes = 0, failures = 0;
  uint64_t timed_bytes = 0, timed_ns = 0;  // of calls that return when the copy is complete
  double bytes_per_s = 0;
};
struct LiveFailure {
  uint32_t process = 0;
  std::string function;
  int32_t code = 0, device = kUnknownDevice;
  uint64_t count = 0, last_bytes = 0;
  int64_t last_ns = 0;
  StackWords stack;
};
struct LiveLoss {
  std::string reason;
  uint64_t count = 0;
};

struct LiveUnwatched {
  std::optional<uint32_t> process;  // absent: all processes
  Unwatched what;
};

struct LiveSnapshot {
  LiveState state = LiveState::kRecording;
  int64_t now_ns = 0;              // the time of the snapshot
  int64_t first_ns = 0;            // of the recording
  int64_t newest_ns = 0;           // of the latest input
  uint64_t calls = 0;              // memory calls so far
  uint64_t bad_rows = 0;           // invalid rows of the file, skipped
  double read_share = 1;           // below 1: a long file is still being read
  int64_t from_ns = 0, to_ns = 0;  // the window of lines
  std::vector<LiveDevice> devices;
  std::vector<LiveRow> processes;         // running ones first, most live bytes first
  uint64_t more_processes = 0;            // not listed in `processes`
  std::vector<LiveStack> stacks, blocks;  // of the driver's memory; of the framework's blocks
  std::vector<LiveStack> unfreed;         // driver memory that ended processes had not freed
  uint64_t more_stacks = 0, more_blocks = 0, more_unfreed = 0;
  uint64_t stacks_bytes = 0, blocks_bytes = 0, unfreed_bytes = 0;  // sums over all of them
  std::vector<LiveKernel> kernels;
  uint64_t more_kernels = 0, launches = 0;
  double launches_per_s = 0;
  std::vector<LiveCopies> copies;
  std::vector<LiveFailure> failures;  // newest first
  uint64_t more_failures = 0;         // calls not listed
  std::vector<LiveLoss> losses;       // most first
  std::vector<LiveUnwatched> unwatched;
  uint64_t more_unwatched = 0;
  FigureSet incomplete;  // affected figures of the sums, or of the requested process
};

class LiveSource {
 public:
  virtual ~LiveSource() = default;
  virtual base::Result<LiveSnapshot> look(const LiveWish& wish) = 0;  // from any thread
  virtual std::string name() const = 0;  // as the user named the file; for a monitor: the machine
  virtual bool isMonitor() const = 0;
};

}  // namespace tidegauge::model
