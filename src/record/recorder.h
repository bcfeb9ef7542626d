// Recorder: from the kernel's rings to decoded calls, in order, process by process.
//
//   memory_ring ─┐ every 5 ms   ┌─► calls of each process, by time
//   system_ring ─┴─► merge ─────┼─► processes that came, changed program, ended
//   name_ring ──────────────────┴─► names of kernels
//
// What arrives goes to a RecorderSink on the thread that calls poll(). One thread, no locks; a
// sink must return within about 1 µs per call on average, or the ring fills (spec: losses are counted
// and told).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/memory_call.h"
#include "record/child.h"
#include "record/probes.h"
#include "record/programs.h"
#include "record/unwinder.h"

namespace tidegauge::record {

struct RecorderOptions {
  ProgramSettings programs;
  bool framework = true;
  std::string name_glob;  // only processes of this name; empty: all
};

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

class RecorderSink {
 public:
  virtual ~RecorderSink() = default;
  virtual void processSeen(const SeenProcess& process) = 0;
  // It runs another program from now on (exec): the old one's memory is gone.
  virtual void processEnded(uint32_t process, int64_t time_ns, std::optional<int> status) = 0;
  virtual void libraryWatched(const WatchedLibrary& library) = 0;
  // What the process has mapped is new, and it may be over in a moment.
  virtual void mappingsChanged(uint32_t pid) { (void)pid; }
  virtual void call(const model::MemoryCall& call) = 0;
  // Frames of a stack, innermost first, before the first call that names it: return addresses, and of
  // where the thread is the address + 1.
  virtual void stackSeen(uint32_t process, uint32_t stack, const std::vector<uint64_t>& frames) = 0;
  virtual void kernelNamed(const KernelName& name) = 0;
  // Totals of a process, before processEnded(). While it runs, ask Recorder::launches().
  virtual void launchesSeen(const std::vector<LaunchCount>& launches) = 0;
  virtual void launched(const Launch& launch) = 0;
  virtual void copiesSeen(const std::vector<CopyCount>& copies) = 0;
};

class Recorder {
 public:
  static base::Result<std::unique_ptr<Recorder>> start(const RecorderOptions& options,
                                                       RecorderSink& sink);
  ~Recorder();

  base::Status watch(uint32_t pid);  // a process that runs already
  base::Status watchCommand(const Child& child, const std::string& program);  // before go()
  base::Status watchAllRunning();  // with watch_all: the libraries that are in use

  // Waits at most `timeout_ms` for news, handles all there is. How many calls came.
  size_t poll(int timeout_ms);
  // Everything that is still on its way; then nothing more comes.
  void finish();

  // Totals since a process was first seen, of one that runs or (0) of all. `clear` forgets them.
  std::vector<LaunchCount> launches(uint32_t tgid = 0, bool clear = false) const;
  std::vector<CopyCount> copies(uint32_t tgid = 0, bool clear = false) const;
  Losses losses() const { return programs_.losses(); }
  // Whether one link holds the probes of a library; if not, its end takes seconds.
  bool linksMany() const { return programs_.linksMany(); }
  const Probes& probes() const { return probes_; }
  const UnwindCounts& stackCounts() const { return unwinder_.counts(); }
  // One of those given to watch(), or a child of theirs.
  bool anyTargetRuns() const;
  int64_t toEpoch(uint64_t monotonic_ns) const {
    return static_cast<int64_t>(monotonic_ns) + epoch_offset_ns_;
  }

 private:
  Recorder(Programs programs, const RecorderOptions& options, RecorderSink& sink);
  struct Rings;
  struct Running {
    uint32_t index = 0;
    bool from_start = false;
    bool left_out = false;     // by name_glob
    std::set<int32_t> stacks;  // that were told
  };
  void urgent(const system_record& record);   // must not wait: a process may be stopped for it
  void inOrder(const system_record& record);  // takes its place among the calls
  void memoryCall(const memory_record& record);
  void named(const name_record& record);
  void launched(const launch_record& record);
  Running& running(uint32_t tgid, const system_record* seen = nullptr);
  void end(uint32_t tgid, uint64_t time_ns, std::optional<int> status);
  void lookAtLibraries(uint32_t tgid);
  void tellStack(Running& process, int32_t stack);

  Programs programs_;
  Probes probes_;
  Unwinder unwinder_;
  RecorderSink& sink_;
  std::unique_ptr<Rings> rings_;
  int64_t epoch_offset_ns_ = 0;
  std::map<uint32_t, Running> running_;
  std::set<uint32_t> from_start_;
  std::string name_glob_;
  bool watch_all_ = false;
  uint32_t next_index_ = 0;
};

}  // namespace tidegauge::record
