// Session: what a recorder sees, kept. The ledger says who holds what now; a file, if there is one,
// gets everything for later.
//
//   Recorder ──calls, processes, stacks──► Session ─┬─► model::Ledger   top, monitor, summary
//                                                   ├─► model::LiveBook the Live view, if asked for
//                                                   └─► RecordingWriter a transaction per 100 ms
//
// tick() belongs to the same thread as Recorder::poll(). The first error of the file ends the
// session: what was written stays.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "model/ledger/ledger.h"
#include "model/live/live_book.h"
#include "record/code/address_space.h"
#include "record/code/perf_map.h"
#include "record/code/rows.h"
#include "record/code/symbols.h"
#include "record/recorder.h"
#include "record/session/file_ids.h"
#include "record/session/nvml.h"
#include "record/session/part_ring.h"
#include "store/recording_writer.h"

namespace tidegauge::record {

inline constexpr int64_t kKeepEnded_ns = int64_t{300} * 1'000'000'000;

struct SessionProcess {
  SeenProcess seen;
  std::optional<int64_t> ended_ns;
  std::optional<int> status;  // of wait(); none: it ran another program
  store::EndReason end_reason = store::EndReason::kExit;
  uint64_t framework_allocations = 0;
  uint64_t framework_frees = 0;
  std::map<uint64_t, std::string> kernel_names;  // by handle, which the driver may give out again
  std::map<std::string, uint64_t> launches;      // totals, by kernelName() at that time
  std::vector<CopyCount> copies;                 // totals, by direction and function
  model::FigureSet unwatched;  // what is incomplete because something of it was not watched
  std::set<std::string> unwatched_told;
  std::vector<model::Unwatched> unwatched_rows;  // only where there are parts to come
};

// "memory ring full", "host to device": of enum loss and enum copy_direction.
std::string_view lossReason(size_t loss);
std::string_view directionName(size_t direction);
// The name of a kernel as the program registered it, else "0x…".
std::string kernelName(const SessionProcess& process, uint64_t handle);

// How many rows are in memory now.
struct SessionKeeps {
  size_t processes = 0, stacks = 0, frames = 0, modules = 0, kernels = 0;
};

class Session final : public RecorderSink {
 public:
  // `book`, if there is one, is kept as well and must live longer.
  // With a ring the writer's file is its first part; others follow.
  explicit Session(std::optional<store::RecordingWriter> writer, model::LiveBook* book = nullptr,
                   std::optional<PartRing> ring = std::nullopt);
  ~Session() override;

  // Asks NVIDIA's library, if there is one, what the devices say is used, from now on.
  void askDevices();
  void devicesSeen(DeviceSample sample);  // as NVML does
  const std::optional<DeviceSample>& devices() const { return devices_; }
  // Of all devices together; none: it is not known.
  std::optional<uint64_t> driversFigureOf(uint32_t pid) const;

  // Every few milliseconds: counters every second, a transaction every 100 ms.
  base::Status tick(Source& source);
  // The end: everything that is left, names included. Then the file is complete.
  base::Status finish(Source& source);

  const model::Ledger& ledger() const { return ledger_; }
  const Rows<SessionProcess>& processes() const { return processes_; }
  // Each once, in the order in which they came first.
  const std::vector<WatchedLibrary>& libraries() const { return libraries_; }
  const Losses& losses() const { return losses_; }
  // Versions of Python in whose stacks no function of Python can have a name: "3.8", "3.11".
  std::set<std::string> olderPythons() const;
  // Which figures of a process are incomplete, by losses of all and by what of it was not watched.
  model::FigureSet incompleteOf(const SessionProcess& process) const;
  // How long an ended process is kept; its stacks, frames, modules and kernels go with it. A file
  // keeps all.
  void forgetAfter(int64_t ns) { forget_after_ns_ = ns; }
  // What processes that are forgotten had not freed, by name: at most 1,000, then "other".
  const std::map<std::string, uint64_t>& forgottenUnfreed() const { return forgotten_unfreed_; }
  SessionKeeps keeps() const;
  // What a user calls processes. What one becomes by exec is a row of processes(), but no new
  // process.
  uint64_t pids() const { return pids_; }
  uint64_t calls() const { return calls_; }
  uint64_t partCalls() const { return part_calls_; }  // of the part that is being written
  uint64_t counted() const { return counted_; }       // launches and copies
  // Until when launches, copies and losses were counted.
  int64_t countedNs() const { return last_counts_ns_; }
  uint64_t fileBytes() const { return writer_ ? writer_->fileBytes() : 0; }
  const PartRing* ring() const { return ring_ ? &*ring_ : nullptr; }
  // "loss.py:30 log_softmax" for each frame of a stack, innermost first; "libfoo.so+0x12" unnamed.
  model::StackWords describeStack(uint32_t stack) const;

  void processSeen(const SeenProcess& process) override;
  void processEnded(uint32_t process, int64_t time_ns, std::optional<int> status) override;
  void libraryWatched(const WatchedLibrary& library) override;
  void mappingsChanged(uint32_t pid) override {
    spaces_.look(pid);
    perf_maps_.look(pid);
  }
  void mappingsForgotten(uint32_t pid) override {
    spaces_.forget(pid);
    perf_maps_.forget(pid);
  }
  void unwatched(const model::Unwatched& what, int64_t at_ns) override;
  void call(const model::MemoryCall& call) override;
  void stackSeen(uint32_t process, uint32_t stack, const std::vector<uint64_t>& frames) override;
  void kernelNamed(const KernelName& name) override;
  void launchesSeen(const std::vector<LaunchCount>& launches) override;
  void launched(const Launch& launch) override;
  void copiesSeen(const std::vector<CopyCount>& copies) override;

 private:
  struct Frame {
    CodePlace place;
    SymbolAnswer name;
  };
  // Counts of the last second, as far as the process was there then.
  struct Window {
    int64_t begin_ns = 0, end_ns = 0;
  };
  Window windowOf(const SessionProcess& process) const;
  uint32_t frameOf(const CodePlace& place);
  uint32_t namedFrame(const CodeName& name, uint64_t address);
  uint32_t kernelOf(uint32_t process, uint64_t handle);
  void forgetEnded(int64_t now_ns);
  void forgetProcess(uint32_t process);
  void forgetStacks();
  void takeNames(std::vector<SymbolAnswer> answers);
  void writeLosses(const Losses& now);
  void takeDevices();
  void assignUnwatched(int64_t now_ns, bool again);  // or only what was not tried yet
  void writeUnwatchedOfNone(const model::Unwatched& what);
  void writeFunctions();
  void writeProcess(const SeenProcess& process);
  // The row's number in the file; it is written if a part does not have it yet (session_parts.cpp).
  uint32_t fileProcess(uint32_t process);
  uint32_t fileModule(uint32_t module);
  uint32_t fileFrame(uint32_t frame);
  uint32_t fileStack(uint32_t stack);
  void writeModule(uint32_t module);
  void continueInParts();
  void lookAtSize();
  void beginPart();
  void writeCarried();
  void writeOldGaps();
  // Runs on the file and keeps its first error.
  // Ids are given out in order from 0 by both sides, so no answer is needed.
  template <class Do>
  void write(const Do& action) {
    if (!writer_ || error_) return;
    if (auto result = action(*writer_); !result.ok()) error_ = std::move(result.error());
  }

  std::optional<store::RecordingWriter> writer_;
  model::LiveBook* book_;
  std::optional<base::Error> error_;
  model::Ledger ledger_;
  AddressSpaces spaces_;
  PerfMaps perf_maps_;
  Symbols symbols_;
  Rows<SessionProcess> processes_;
  std::vector<WatchedLibrary> libraries_;
  Rows<Frame> frames_;
  std::map<CodePlace, uint32_t> frame_ids_;
  std::map<CodeName, uint32_t> named_frames_;  // of code made at run time: by name, not by place
  size_t modules_written_ = 0;
  Rows<std::vector<uint32_t>> stacks_;
  std::map<std::vector<uint32_t>, uint32_t> stack_ids_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> stack_of_;  // (process, kernel's id) → ours
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> kernels_;
  uint32_t next_kernel_ = 0;
  std::map<std::string, uint64_t> forgotten_unfreed_;
  int64_t forget_after_ns_ = kKeepEnded_ns;
  Losses losses_{};
  // Of calls: the stack was told, and what it was made of could not be had.
  uint64_t stacks_lost_ = 0;
  struct WaitingUnwatched {
    model::Unwatched what;
    int64_t at_ns = 0;
    bool was_tried = false;  // its process had not been seen
  };
  std::map<std::string, WaitingUnwatched> unwatched_;  // by pid and what: not assigned yet
  bool more_unwatched_ = false;
  struct WrittenDevice {
    bool is_told = false;
    uint64_t total_bytes = 0;
    std::optional<uint64_t> used_bytes;
    std::map<uint32_t, uint64_t> by_pid;
  };
  std::map<int32_t, WrittenDevice> written_devices_;
  std::optional<DeviceSample> devices_;  // the newest
  std::optional<Nvml> nvml_;
  uint64_t calls_ = 0, part_calls_ = 0;
  uint64_t pids_ = 0;
  std::set<uint32_t> run_another_;  // pids: the program ended by exec, the next was not seen yet
  uint64_t counted_ = 0;
  int64_t last_commit_ns_ = 0;
  int64_t last_counts_ns_ = 0;
  std::optional<PartRing> ring_;
  FileIds process_ids_, module_ids_, frame_ids_of_file_, stack_ids_of_file_, kernel_ids_;
  std::vector<model::Unwatched> unwatched_of_none_;
  StackCounts stack_counts_;
  int64_t newest_call_ns_ = 0;
  int64_t next_part_ns_ = 0;     // not before
  int64_t ending_since_ns_ = 0;  // readers are let wait for the end of this part; 0: they are not
  bool finishing_ = false;       // whatever is left is written now
};

}  // namespace tidegauge::record
