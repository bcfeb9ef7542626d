// Source: the origin of a session's calls: probes in the kernel (Recorder) or a library in the
// programs (PreloadRecorder). Its results go to a RecorderSink on the thread that calls poll().
#pragma once

#include <climits>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/incomplete.h"
#include "model/memory_call.h"
#include "record/kernel/programs.h"
#include "record/python/seen_stack.h"

namespace tidegauge::record {

struct WatchedLibrary;

// One run of one program under one pid. A reused pid is another process.
struct SeenProcess {
  uint32_t index = 0;  // in order of appearance; never reused
  uint32_t pid = 0;
  uint32_t parent = 0;
  std::string name;     // comm
  std::string command;  // its arguments
  uint64_t cgroup = 0;
  int64_t first_ns = 0;     // since the epoch
  bool from_start = false;  // recorded from its first instruction
  // By fork, of a process that is recorded: that one's kernels are its own, too.
  std::optional<uint32_t> forked_from;
  bool names_were_seen = false;  // all kernels that it has were registered while it was watched
};

struct KernelName {
  uint32_t process = 0;
  uint64_t handle = 0;
  uint64_t made_from = 0;  // the kernel that a function was made from: then name is empty
  std::string name;
};

// Within a period, for one kernel and geometry. Kernel 0, no geometry: unknown which ones.
inline constexpr const char* kNotToldApart = "(kernels not told apart)";
struct LaunchCount {
  uint32_t process = 0;
  uint64_t kernel = 0;
  uint32_t grid[3] = {};
  uint32_t block[3] = {};
  uint16_t function = 0;
  uint64_t launches = 0;
};
// One launch, if each is recorded (ProgramSettings::launch_events).
struct Launch {
  LaunchCount what;  // launches = 1
  int64_t time_ns = 0;
  uint32_t thread = 0;
  uint32_t shared_bytes = 0;
  uint64_t stream = 0;
  int32_t device = model::kUnknownDevice;
  uint32_t stack = model::kNoStackOfCall;
  std::vector<uint64_t> arguments;  // first words at the addresses in the arguments
  // If it is set, `bytes` has this number of parameters, one after the other.
  std::optional<uint32_t> parameters;
  std::vector<uint8_t> bytes;
};
struct CopyCount {
  uint32_t process = 0;
  uint8_t direction = 0;  // enum copy_direction
  bool submitted = false;
  uint16_t function = 0;
  uint64_t calls = 0, bytes = 0, time_ns = 0, failures = 0;
};

// Incomplete stacks.
struct StackCounts {
  uint64_t cut = 0;   // the caller of their last frame was not found
  uint64_t deep = 0;  // they have more frames than are kept: the outermost are missing
};

// It ended, and only its parent received the status.
inline constexpr int kUnknownStatus = INT_MIN;

class RecorderSink {
 public:
  virtual ~RecorderSink() = default;
  virtual void processSeen(const SeenProcess& process) = 0;
  // No status: it now runs another program (exec), and the memory of the old one is gone. The
  // status is that of wait(), or kUnknownStatus.
  virtual void processEnded(uint32_t process, int64_t time_ns, std::optional<int> status) = 0;
  virtual void libraryWatched(const WatchedLibrary& library) = 0;
  // A part of a process that is not watched, found at `at_ns`; may be reported repeatedly, and
  // before the process is seen.
  virtual void unwatched(const model::Unwatched& what, int64_t at_ns) {
    (void)what;
    (void)at_ns;
  }
  // The process has new mappings, and may end soon.
  virtual void mappingsChanged(uint32_t pid) { (void)pid; }
  // The process is gone, and processSeen() was never called for it.
  virtual void mappingsForgotten(uint32_t pid) { (void)pid; }
  virtual void call(const model::MemoryCall& call) = 0;
  // A stack, before the first call that refers to it.
  virtual void stackSeen(uint32_t process, uint32_t stack, const SeenStack& frames) = 0;
  // Why the Python frames of a process are missing from its stacks: "Python 3.8: it is older …".
  virtual void pythonMissing(const std::string& why) { (void)why; }
  virtual void kernelNamed(const KernelName& name) = 0;
  // The counts since the last call; for an ended process they may come a little later.
  virtual void launchesSeen(const std::vector<LaunchCount>& launches) = 0;
  virtual void launched(const Launch& launch) = 0;
  virtual void copiesSeen(const std::vector<CopyCount>& copies) = 0;
};

class Source {
 public:
  virtual ~Source() = default;
  // Waits at most `timeout_ms` for records, and handles all of them. Returns the number of calls.
  virtual size_t poll(int timeout_ms) = 0;
  // Handles everything up to now that has not arrived yet; after that, nothing more follows.
  virtual void finish() = 0;
  // Passes the counts since the last call to the sink: launchesSeen(), copiesSeen().
  virtual void tellCounts() = 0;
  virtual Losses losses() const = 0;
  // The sizes of a kernel's parameters: from now on its launches come with all of them. Ignored
  // unless asked for (ProgramSettings::whole_arguments).
  virtual void setParameters(uint32_t process, uint64_t kernel,
                             const std::vector<uint64_t>& sizes) {
    (void)process;
    (void)kernel;
    (void)sizes;
  }
  virtual StackCounts stackCounts() const { return {}; }
  // One of the requested processes, or a child of theirs, runs.
  virtual bool anyTargetRuns() const = 0;
};

}  // namespace tidegauge::record
