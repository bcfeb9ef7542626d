// Session: everything that a recorder reports, kept. The ledger knows who holds what now; a file,
// if there is one, gets all of it.
//
//   Recorder ──calls, processes, stacks──► Session ─┬─► model::Ledger    top, monitor
//                                                   ├─► model::LiveBook  the Live view
//                                                   └─► SessionFile      every 100 ms
//
//   SessionProcesses  programs and their kernels      SessionStacks     frames, stacks, names
//   SessionUnwatched  calls that are not seen         SessionDevices    the driver's own figures
//   SessionLaunches   single launches                 SessionLateNames  kernels older than it
//   SessionTimes      what the device measured
//
// tick() belongs to the same thread as Recorder::poll(). The first error of the file ends the
// session: what was written stays. It has one member for each part above and for each count that
// the commands show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/ledger/ledger.h"
#include "model/live/live_book.h"
#include "record/recorder.h"
#include "record/session/session_devices.h"
#include "record/session/session_file.h"
#include "record/session/session_late_names.h"
#include "record/session/session_launches.h"
#include "record/session/session_processes.h"
#include "record/session/session_stacks.h"
#include "record/session/session_times.h"
#include "record/session/session_unwatched.h"
#include "record/session/session_words.h"

namespace tidegauge::record {

inline constexpr int64_t kKeepEnded_ns = int64_t{300} * 1'000'000'000;

// How many rows are in memory now.
struct SessionKeeps {
  size_t processes = 0, stacks = 0, frames = 0, modules = 0, kernels = 0;
};

// How much came.
struct SessionTotals {
  uint64_t calls = 0;
  uint64_t counted = 0;      // launches and copies
  uint64_t stacks_lost = 0;  // of calls: the kernel had a stack, its frames could not be found
};

class Session final : public RecorderSink {
 public:
  // `book`, if there is one, is kept as well and must live longer.
  // With a ring the writer's file is its first part; others follow.
  explicit Session(std::optional<store::RecordingWriter> writer, model::LiveBook* book = nullptr,
                   std::optional<PartRing> ring = std::nullopt);
  // Its parts refer to each other.
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Launches come with arguments: what they are is read from the code of their kernels.
  // `whole`: structs are recorded whole.
  void readParameters(bool whole) { launches_.readParameters(whole); }
  // Asks NVIDIA's library, if there is one, what the devices say is used, from now on.
  void askDevices() { devices_.ask(); }
  // Takes what the device measured of kernels and copies, from now on.
  void takeTimes(TimesReader reader) { times_.begin(std::move(reader)); }
  const SessionTimes& times() const { return times_; }
  void devicesSeen(DeviceSample sample) { devices_.add(std::move(sample)); }
  const std::optional<DeviceSample>& devices() const { return devices_.newest(); }
  // The sum over all devices; none: it is not known.
  std::optional<uint64_t> driversFigureOf(uint32_t pid) const { return devices_.usedBy(pid); }

  // Every few milliseconds: counters every second, a transaction every 100 ms.
  base::Status tick(Source& source);
  // The end: everything that is left, names included. Then the file is complete. Names that are
  // still being looked for are left out once `must_end` is true, which is asked now and then.
  base::Status finish(Source& source, const std::function<bool()>& must_end = {});
  uint64_t unnamedFrames() { return stacks_.unnamed(); }  // left out for that reason
  // The first error of the file: nothing more is written to it.
  base::Status status() const;
  void keepFree(uint64_t bytes) { file_.keepFree(bytes); }  // of the disk

  const model::Ledger& ledger() const { return ledger_; }
  const Rows<SessionProcess>& processes() const { return processes_.rows(); }
  // Each once, in the order in which they came first.
  const std::vector<WatchedLibrary>& libraries() const { return libraries_; }
  const Losses& losses() const { return losses_; }
  const std::set<std::string>& missingPythons() const { return missing_pythons_; }
  // Which figures of a process are incomplete, by losses of all and by what of it was not watched.
  model::FigureSet incompleteOf(const SessionProcess& process) const;
  // How long an ended process is kept; its stacks, frames, modules and kernels go with it. A file
  // keeps all.
  void forgetAfter(int64_t ns) { forget_after_ns_ = ns; }
  // What forgotten processes had not freed, by name: at most 1,000, then "other".
  const std::map<std::string, uint64_t>& forgottenUnfreed() const { return forgotten_unfreed_; }
  SessionKeeps keeps() const;
  // What a user calls processes. What one becomes by exec is a row of processes(), but no new
  // process.
  uint64_t pids() const { return processes_.pids(); }
  uint64_t calls() const { return totals_.calls; }
  uint64_t partCalls() const { return file_.partCalls(); }  // of the part that is being written
  uint64_t counted() const { return totals_.counted; }      // launches and copies
  // Until when launches, copies and losses were counted.
  int64_t countedNs() const { return last_counts_ns_; }
  uint64_t fileBytes() const { return file_.bytes(); }
  const PartRing* ring() const { return file_.ring(); }
  // "loss.py:30 log_softmax" for each frame of a stack, innermost first; "libfoo.so+0x12" unnamed.
  model::StackWords describeStack(uint32_t stack) const { return stacks_.describe(stack); }

  void processSeen(const SeenProcess& process) override;
  void processEnded(uint32_t process, int64_t time_ns, std::optional<int> status) override;
  void libraryWatched(const WatchedLibrary& library) override;
  void mappingsChanged(uint32_t pid) override { stacks_.look(pid); }
  void mappingsForgotten(uint32_t pid) override { stacks_.forgetCode(pid); }
  void unwatched(const model::Unwatched& what, int64_t at_ns) override;
  void call(const model::MemoryCall& seen) override;
  void stackSeen(uint32_t process, uint32_t stack, const SeenStack& frames) override;
  void pythonMissing(const std::string& why) override { missing_pythons_.insert(why); }
  void kernelNamed(const KernelName& name) override;
  void launchesSeen(const std::vector<LaunchCount>& launches) override;
  void launched(const Launch& launch) override { launches_.take(launch); }
  void copiesSeen(const std::vector<CopyCount>& copies) override;

 private:
  // Counts of the last second, as far as the process was there then.
  struct Window {
    int64_t begin_ns = 0, end_ns = 0;
  };
  Window windowOf(const SessionProcess& process) const;
  void forgetEnded(int64_t now_ns);
  void forgetProcess(uint32_t process);
  void writeFunctions();
  void writeLosses(const Losses& seen);
  void endPartIfFull();
  void writeBeginning();  // of a part
  void writeCarried();

  model::LiveBook* book_;
  model::Ledger ledger_;
  SessionFile file_;
  SessionStacks stacks_;
  SessionProcesses processes_;
  SessionUnwatched unwatched_;
  SessionDevices devices_;
  SessionLaunches launches_;
  SessionLateNames late_names_;
  SessionTimes times_;
  std::vector<WatchedLibrary> libraries_;
  std::map<std::string, uint64_t> forgotten_unfreed_;
  int64_t forget_after_ns_ = kKeepEnded_ns;
  Losses losses_{};
  StackCounts stack_counts_;
  SessionTotals totals_;
  std::set<std::string> missing_pythons_;
  int64_t last_commit_ns_ = 0;
  int64_t last_counts_ns_ = 0;
  int64_t newest_call_ns_ = 0;
  bool finishing_ = false;  // whatever is left is written now
};

}  // namespace tidegauge::record
