// Recorder: turns the kernel's rings into decoded calls, in order, by process.
//
//   memory_ring ─┐ every 5 ms   ┌─► calls of each process, by time
//   system_ring ─┴─► merge ─────┼─► processes that started, changed program, ended
//   name_ring ──────────────────┴─► names of kernels
//
// Results go to a RecorderSink on the thread that calls poll(). Three more threads empty the ring
// of calls (rings.h), learn how to walk stacks (unwinder.h) and empty tables of counts before they
// are full (kernel_counts.h); each has its own lock and calls no other code. If a sink needs more
// than some µs per call for long, calls wait, at most 160 MiB of them; then the ring fills, and
// losses are counted.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/memory_call.h"
#include "record/call_order.h"
#include "record/kernel/even_clock.h"
#include "record/kernel/gates.h"
#include "record/kernel/kernel_counts.h"
#include "record/kernel/probes.h"
#include "record/kernel/programs.h"
#include "record/kernel/rings.h"
#include "record/process/cgroup.h"
#include "record/process/child.h"
#include "record/program_book.h"
#include "record/python/pythons.h"
#include "record/source.h"
#include "record/unwind/unwinder.h"

namespace tidegauge::record {

struct RecorderOptions {
  ProgramSettings programs;
  bool framework = true;
  bool python = true;     // walk the frames of CPython
  std::string name_glob;  // only processes of this name; empty: all
  // For recorders that run for weeks: a library that no process maps any more is released after a
  // minute, also if only chosen processes are watched. (Always done if the whole machine is
  // watched.)
  bool let_go_unused = false;
};

// It has one member for each thing of the kernel that it reads, and the state of what runs.
class Recorder final : public Source {
 public:
  static base::Result<std::unique_ptr<Recorder>> start(const RecorderOptions& options,
                                                       RecorderSink& sink);
  ~Recorder() override;

  base::Status watch(uint32_t pid);  // a running process
  // Before go(). `library_path`: LD_LIBRARY_PATH, as the command has it.
  base::Status watchCommand(const Child& child, const std::string& program,
                            const std::string& library_path);
  base::Status watchAllRunning();  // with watch_all: the libraries in use, and those at hand

  size_t poll(int timeout_ms) override;
  void finish() override;
  void tellCounts() override;
  Losses losses() const override;
  void setParameters(uint32_t process, uint64_t kernel,
                     const std::vector<uint64_t>& sizes) override;
  // Whether one link holds the probes of a library; if not, its end takes seconds.
  bool linksMany() const { return programs_.linksMany(); }
  const Probes& probes() const { return probes_; }
  StackCounts stackCounts() const override {
    return {unwinder_.counts().cut, unwinder_.counts().deep};
  }
  bool anyTargetRuns() const override;

 private:
  friend class CallOrder;  // calls beforeCall(), inOrder(), memoryCall() and launched()
  Recorder(Programs programs, const RecorderOptions& options, RecorderSink& sink);
  struct Running {
    uint32_t index = 0;
    uint32_t program = 0;  // its number in the kernel; 0: no call yet
    bool from_start = false, names_were_seen = false;
    bool left_out = false;                // by name_glob
    std::set<int32_t> stacks;             // that the sink knows
    std::vector<uint64_t> sized_kernels;  // of which the kernel knows the parameters
  };
  void letGo();  // removes the probes; programs that wait continue
  void takeUrgent();
  void urgent(const system_record& record);   // handled at once: a process may be stopped for it
  void inOrder(const system_record& record);  // handled in order of time among the calls
  void beforeCall(size_t number);
  void memoryCall(const memory_record& record);
  void named(const name_record& record);
  void launched(const SeenLaunch& record);
  Running& running(uint32_t tgid, const system_record* seen = nullptr);
  bool isNameMeant(const std::string& name) const;
  bool isMeant(const system_record& record) const;  // by name and cgroup
  void end(uint32_t tgid, uint64_t time_ns, std::optional<int> status);
  // `since`: it has been running since then; absent: it waits. Returns the watched libraries
  // that it maps.
  using Since = std::function<std::optional<int64_t>()>;  // called once the probes are there
  // `is_meant`: else it is not recorded, and nothing is said of it.
  std::vector<WatchedLibrary> lookAtLibraries(uint32_t tgid, const Since& since, bool is_meant);
  void notExamined(uint32_t tgid, int64_t since_ns);
  void learnCode(uint32_t tgid);
  void learnPython(uint32_t tgid);
  void releaseUnused();
  void forgetGone();
  void watchRunning(uint32_t tgid);
  void watchAtHand(uint32_t tgid);
  void sendStack(Running& process, int32_t stack);
  void takeNames();
  void takeMissedNames();

  Programs programs_;
  Gates gates_;
  Probes probes_;
  Unwinder unwinder_;
  Pythons pythons_;
  RecorderSink& sink_;
  Rings rings_;
  KernelCounts counts_;
  CallOrder order_;
  ProgramBook book_;
  std::map<uint32_t, Running> running_;  // by pid
  std::set<uint32_t> from_start_;
  // These lack calls. Each gets a row, even if the whole machine is watched and no call follows.
  std::set<uint32_t> incomplete_;
  std::string name_glob_;
  bool watch_all_ = false;
  std::optional<Cgroup> cgroup_;  // only its processes are recorded
  bool walks_python_ = false;
  bool let_go_unused_ = false;
  bool has_let_go_ = false;
  // With watch_all_: processes whose code was learnt; true: gone at the last check. The end of a
  // process without calls is not reported.
  std::map<uint32_t, bool> learnt_;
  int64_t looked_ns_ = 0;  // for unused libraries
  uint32_t next_index_ = 0;
  uint64_t names_lost_ = 0;  // whose program had gone before they were read
};

}  // namespace tidegauge::record
