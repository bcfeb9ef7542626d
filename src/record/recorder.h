// Recorder: from the kernel's rings to decoded calls, in order, process by process.
//
//   memory_ring ─┐ every 5 ms   ┌─► calls of each process, by time
//   system_ring ─┴─► merge ─────┼─► processes that came, changed program, ended
//   name_ring ──────────────────┴─► names of kernels
//
// What arrives goes to a RecorderSink on the thread that calls poll(). Three more threads empty the
// ring of calls (rings.h), learn how to walk stacks (unwinder.h) and empty tables of counts before
// they are full (kernel_counts.h); each has its own lock and calls nobody. A sink that needs more
// than some µs a call for long makes calls wait, at most 160 MiB of them; then the ring fills, and
// losses are told.
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
#include "record/kernel/even_clock.h"
#include "record/kernel/kernel_counts.h"
#include "record/kernel/probes.h"
#include "record/kernel/programs.h"
#include "record/kernel/rings.h"
#include "record/process/child.h"
#include "record/source.h"
#include "record/unwind/unwinder.h"

namespace tidegauge::record {

struct RecorderOptions {
  ProgramSettings programs;
  bool framework = true;
  std::string name_glob;  // only processes of this name; empty: all
  // What goes on for weeks: also of chosen processes a library that none maps any more is let go
  // after a minute, as it always is where all of the machine are watched.
  bool let_go_unused = false;
};

class Recorder final : public Source {
 public:
  static base::Result<std::unique_ptr<Recorder>> start(const RecorderOptions& options,
                                                       RecorderSink& sink);
  ~Recorder() override;

  base::Status watch(uint32_t pid);  // a process that runs already
  base::Status watchCommand(const Child& child, const std::string& program);  // before go()
  base::Status watchAllRunning();  // with watch_all: the libraries that are in use

  size_t poll(int timeout_ms) override;
  void finish() override;
  void tellCounts() override;
  Losses losses() const override { return programs_.losses(); }
  // Whether one link holds the probes of a library; if not, its end takes seconds.
  bool linksMany() const { return programs_.linksMany(); }
  const Probes& probes() const { return probes_; }
  StackCounts stackCounts() const override {
    return {unwinder_.counts().cut, unwinder_.counts().deep};
  }
  bool anyTargetRuns() const override;

 private:
  Recorder(Programs programs, const RecorderOptions& options, RecorderSink& sink);
  struct Running {
    uint32_t index = 0;
    uint32_t program = 0;  // its number in the kernel; 0: it has made no call yet
    bool from_start = false;
    bool left_out = false;     // by name_glob
    std::set<int32_t> stacks;  // that were told
  };
  void takeUrgent();
  void urgent(const system_record& record);   // must not wait: a process may be stopped for it
  void inOrder(const system_record& record);  // takes its place among the calls
  void memoryCall(const memory_record& record);
  void named(const name_record& record);
  void launched(const launch_record& record);
  Running& running(uint32_t tgid, const system_record* seen = nullptr);
  void end(uint32_t tgid, uint64_t time_ns, std::optional<int> status);
  // `since_ns`: it has been going on since then; none: it waits. Of which kinds it maps any.
  std::vector<Library> lookAtLibraries(uint32_t tgid, std::optional<int64_t> since_ns);
  void learnCode(uint32_t tgid);
  void letGoOfUnused();
  void forgetGone();
  void watchRunning(uint32_t tgid);
  void tellStack(Running& process, int32_t stack);
  void takeNames();
  void inOrderUntil(uint64_t time_ns);
  template <class Key, class Value, class Tell>
  void tellRows(std::vector<std::pair<Key, Value>>& rows, const Tell& tell);

  Programs programs_;
  Probes probes_;
  Unwinder unwinder_;
  RecorderSink& sink_;
  Rings rings_;
  KernelCounts counts_;
  std::vector<system_record> system_records_;  // in order of time, up to where all calls are known
  uint64_t told_until_ns_ = 0, end_ns_ = UINT64_MAX;  // the kernel's clock
  std::vector<memory_record> memory_records_;
  std::vector<launch_record> launch_records_;
  std::map<uint32_t, Running> running_;
  // By program, as the kernel numbers them; no value: left out by name.
  std::map<uint32_t, std::optional<uint32_t>> index_of_;
  std::vector<uint32_t> ended_programs_;  // their last counts are still to be taken
  std::map<uint32_t, std::vector<name_record>> early_names_;  // of programs not told yet
  TakenCounts untold_;
  std::set<uint32_t> from_start_;
  std::string name_glob_;
  bool watch_all_ = false;
  bool let_go_unused_ = false;
  // With watch_all_: whose code was learnt; true: it was gone at the last look. Nobody tells of the
  // end of a process that made no call.
  std::map<uint32_t, bool> learnt_;
  int64_t looked_ns_ = 0;  // for libraries that nobody uses any more
  uint32_t next_index_ = 0;
};

}  // namespace tidegauge::record
