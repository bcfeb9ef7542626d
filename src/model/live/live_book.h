// LiveBook: keeps the figures of many processes for the Live view, in bounded space, while calls,
// launches and copies arrive. The ledger beside it knows who holds what.
//
//   LiveBook book;  Ledger ledger([&](const Effect& effect) { book.take(effect); });
//   book.addProcess({.process = 0, .pid = 41, .name = "python", .began_ns = t});
//   ledger.take(call); … book.addLaunches(0, "gemm", 400, t, t + 1 s);
//   book.look(ledger, {}, {.now_ns = now}, names)   →   LiveSnapshot
//
// Cost: take() some 100 ns; look() O(live blocks) for stacks, some µs per process. Space: at most
// 512 processes (ended ones are dropped first, then new ones are only counted), 200 kernels and 100
// refused calls of each by name, histories of 600 slots: about 100 KiB per busy process.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "model/ledger/effect.h"
#include "model/ledger/ledger.h"
#include "model/live/level_history.h"
#include "model/live/live_snapshot.h"
#include "model/live/rate_meter.h"

namespace tidegauge::model {

struct LiveProcess {
  uint32_t process = 0, pid = 0;
  std::string name, command;
  int64_t began_ns = 0;
};

struct LiveCopyCount {  // counted over a period
  int64_t begin_ns = 0, end_ns = 0;
  std::string direction;   // "host to device", …
  bool submitted = false;  // host_ns is not the time of a transfer
  uint64_t calls = 0, bytes = 0, host_ns = 0, failures = 0;
};

// Names for what the book knows only by number.
struct LiveNames {
  std::function<StackWords(uint32_t stack)> stack;
  std::function<std::string(uint16_t function)> function;
};

struct LiveMoment {
  LiveState state = LiveState::kMonitor;
  int64_t now_ns = 0;
  int64_t counted_ns = 0;  // end of the time in which launches and copies were counted
};

class LiveBook {
 public:
  static constexpr size_t kMaxProcesses = 512;
  static constexpr size_t kMaxKernels = 200;
  static constexpr size_t kMaxFailures = 100;
  static constexpr size_t kMaxReasons = 100;
  static constexpr size_t kMaxUnwatched = 200;

  void addProcess(const LiveProcess& process);
  void endProcess(uint32_t process, int64_t time_ns);
  // It ended long ago, and the owner of the ledger drops it.
  void forgetProcess(uint32_t process);
  // An effect from the ledger. Processes that were never added are "unknown process".
  void take(const Effect& effect);
  void addLaunches(uint32_t process, const std::string& kernel, uint64_t count, int64_t begin_ns,
                   int64_t end_ns);
  // Launches under the first name are of this kernel: its name came later than they did.
  void renameKernel(uint32_t process, const std::string& from, const std::string& to);
  void addCopies(uint32_t process, const LiveCopyCount& count);
  void addLoss(const std::string& reason, uint64_t count);
  // Without a process: for all of them.
  void addUnwatched(std::optional<uint32_t> process, const Unwatched& what);

  int64_t newestNs() const { return newest_ns_; }  // of all input
  LiveSnapshot look(const Ledger& ledger, const LiveWish& wish, const LiveMoment& moment,
                    const LiveNames& names) const;

 private:
  struct Kernel {
    uint64_t launches = 0;
    RateMeter rate;
  };
  struct Copies {
    LiveCopies sum;
    RateMeter bytes;
  };
  struct Failure {
    uint64_t count = 0, bytes = 0;
    int64_t time_ns = 0;
    int32_t device = kUnknownDevice;
  };
  struct Account {
    LiveProcess is;
    std::optional<int64_t> ended_ns;
    FigureSet unwatched;
    bool is_older = false;  // lacksTheBeginning()
    uint64_t live_bytes = 0, peak_bytes = 0, allocations = 0, frees = 0;
    uint64_t launches = 0, failures = 0, copies = 0;
    LevelHistory minute{100'000'000, LevelHistory::Keeps::kRecent};
    LevelHistory ten_minutes{1'000'000'000, LevelHistory::Keeps::kRecent};
    LevelHistory whole{100'000'000, LevelHistory::Keeps::kWhole};
    RateMeter allocated, launched;
    std::map<std::string, Kernel> kernels;
    std::map<std::string, Copies> copied;                               // by direction
    std::map<std::tuple<uint16_t, int32_t, uint32_t>, Failure> failed;  // function, code, stack
  };
  struct Level {
    uint64_t live_bytes = 0, peak_bytes = 0;
  };
  struct Scope;  // of one look()
  Account* accountOf(uint32_t process);
  void move(Account& account, int32_t device, int64_t time_ns, uint64_t bytes, bool comes);
  void addDevices(LiveSnapshot& snapshot, const Scope& scope) const;
  void addRows(LiveSnapshot& snapshot, const Scope& scope) const;
  void addStacks(LiveSnapshot& snapshot, const Scope& scope) const;
  void addWork(LiveSnapshot& snapshot, const Scope& scope) const;
  void addFailures(LiveSnapshot& snapshot, const Scope& scope) const;
  void addIncomplete(LiveSnapshot& snapshot, const Scope& scope) const;

  std::map<uint32_t, Account> accounts_;
  std::map<int32_t, Level> devices_;
  std::map<std::string, uint64_t> losses_;
  std::vector<LiveUnwatched> unwatched_;
  uint64_t more_unwatched_ = 0;
  FigureSet of_all_;  // figures affected by losses, and by what belongs to no single process
  bool has_lost_calls_ = false;     // losesMemoryCalls()
  uint64_t dropped_processes_ = 0;  // processes without space, or dropped
  int64_t first_ns_ = 0, newest_ns_ = 0;
};

}  // namespace tidegauge::model
