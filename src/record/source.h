// Source: where a session's calls come from, by probes in the kernel (Recorder) or by a library in
// the programs (PreloadRecorder). What it sees goes to a RecorderSink on the thread that calls
// poll().
#pragma once

#include <climits>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/incomplete.h"
#include "model/memory_call.h"
#include "record/kernel/programs.h"

namespace tidegauge::record {

struct WatchedLibrary;

// One run of one program under one pid. A pid that is used again is another process.
struct SeenProcess {
  uint32_t index = 0;  // in order of appearance; never used again
  uint32_t pid = 0;
  uint32_t parent = 0;
  std::string name;     // comm
  std::string command;  // its arguments
  uint64_t cgroup = 0;
  int64_t first_ns = 0;     // since the epoch
  bool from_start = false;  // recorded from its first instruction on
};

struct KernelName {
  uint32_t process = 0;
  uint64_t handle = 0;
  uint64_t made_from = 0;  // of which kernel a function is: then name is empty
  std::string name;
};

// Over a time, of one kernel and geometry. Kernel 0, no geometry: which ones they were is not
// known.
inline constexpr const char* kNotToldApart = "(kernels not told apart)";
struct LaunchCount {
  uint32_t process = 0;
  uint64_t kernel = 0;
  uint32_t grid[3] = {};
  uint32_t block[3] = {};
  uint16_t function = 0;
  uint64_t launches = 0;
};
// One launch, if each was asked for (ProgramSettings::launch_events).
struct Launch {
  LaunchCount what;  // launches = 1
  int64_t time_ns = 0;
  uint32_t thread = 0;
  uint32_t shared_bytes = 0;
  uint64_t stream = 0;
  int32_t device = model::kUnknownDevice;
  uint32_t stack = model::kNoStackOfCall;
  std::vector<uint64_t> arguments;  // first words of what the arguments point to
};
struct CopyCount {
  uint32_t process = 0;
  uint8_t direction = 0;  // enum copy_direction
  bool submitted = false;
  uint16_t function = 0;
  uint64_t calls = 0, bytes = 0, time_ns = 0, failures = 0;
};

// Stacks that are not whole.
struct StackCounts {
  uint64_t cut = 0;   // the caller of their last frame could not be found
  uint64_t deep = 0;  // they have more frames than are kept: the outermost are not there
};

// It ended, and only its parent was told how.
inline constexpr int kUnknownStatus = INT_MIN;

class RecorderSink {
 public:
  virtual ~RecorderSink() = default;
  virtual void processSeen(const SeenProcess& process) = 0;
  // No status: it runs another program from now on (exec); the old one's memory is gone. The status
  // is as wait() gives it, or kUnknownStatus.
  virtual void processEnded(uint32_t process, int64_t time_ns, std::optional<int> status) = 0;
  virtual void libraryWatched(const WatchedLibrary& library) = 0;
  // Something of a process that is not watched, found at `at_ns`; may be told again and again, and
  // before the process is seen.
  virtual void unwatched(const model::Unwatched& what, int64_t at_ns) {
    (void)what;
    (void)at_ns;
  }
  // What the process has mapped is new, and it may be over in a moment.
  virtual void mappingsChanged(uint32_t pid) { (void)pid; }
  // The process is gone, and processSeen() was never told of it.
  virtual void mappingsForgotten(uint32_t pid) { (void)pid; }
  virtual void call(const model::MemoryCall& call) = 0;
  // Frames of a stack, innermost first, before the first call that names it: return addresses, and
  // of where the thread is the address + 1.
  virtual void stackSeen(uint32_t process, uint32_t stack, const std::vector<uint64_t>& frames) = 0;
  virtual void kernelNamed(const KernelName& name) = 0;
  // What was counted since the last time; of a process that ended it may come a little later.
  virtual void launchesSeen(const std::vector<LaunchCount>& launches) = 0;
  virtual void launched(const Launch& launch) = 0;
  virtual void copiesSeen(const std::vector<CopyCount>& copies) = 0;
};

class Source {
 public:
  virtual ~Source() = default;
  // Waits at most `timeout_ms` for news, handles all there is. How many calls came.
  virtual size_t poll(int timeout_ms) = 0;
  // Everything until now that is still on its way; then nothing more comes.
  virtual void finish() = 0;
  // Hands to the sink what was counted since the last time: launchesSeen(), copiesSeen().
  virtual void tellCounts() = 0;
  virtual Losses losses() const = 0;
  virtual StackCounts stackCounts() const { return {}; }
  // One of those that were to be recorded, or a child of theirs.
  virtual bool anyTargetRuns() const = 0;
};

}  // namespace tidegauge::record
