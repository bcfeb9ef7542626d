// Flushes what x86 processors have cached of all programs, without touching any of them: eight
// small processes run on each processor in turn. A processor keeps the translations of the last six
// address spaces; a seventh takes the place of the oldest, which begins with nothing next time.
//
//   processor 0   target │ a b c d e f g h │ target: translates anew, which sets accessed bits
//   processor 1   target │                 a b c d e f g h │ target
//
// For kernels with soft-dirty bits, where clear_refs 4 would write-protect every page of the
// target. Measured: a busy set of 1 MiB is seen as a whole in each of 8 windows; without it between
// 4 and 1,024 KiB of it. Three processes instead of eight failed in 2 of 8, six in none.
//
// Cost: some 25 µs of each processor for each process, one processor after the other; a processor
// that is busy with real-time work delays it. Without CAP_SYS_NICE the processes take part in the
// usual scheduling, which takes 25 ms on a busy processor. While it exists there are eight sleeping
// processes. Processors with INVLPGB may keep translations for longer (Linux 6.15): not there.
// Source: Linux, arch/x86/mm/tlb.c, choose_new_asid(), TLB_NR_DYN_ASIDS.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidegauge::wss {

class SwitchRing {
 public:
  static constexpr int kProcesses = 8;  // six, and two for what runs in between

  // Whether this machine's processors work that way.
  static bool isSuited();
  static base::Result<SwitchRing> start();
  SwitchRing(SwitchRing&& other) noexcept;
  SwitchRing& operator=(SwitchRing&&) = delete;
  SwitchRing(const SwitchRing&) = delete;
  ~SwitchRing();

  struct Turn {
    bool is_complete = false;  // all of them ran on each processor
    int64_t longest_ns = 0;    // for which one processor was taken, at most
    int64_t cpu_ns = 0;        // of all processes
  };
  // One turn over all processors that are online. After an incomplete one it is of no more use.
  Turn turn();

 private:
  SwitchRing() = default;
  bool runOn(int processor);
  int64_t cpuTime_ns() const;

  int in_ = -1, out_ = -1;      // the number of a processor goes in, and comes out of the last one
  std::vector<pid_t> running_;  // in the order of the ring
};

// "0-3,8": 0, 1, 2, 3, 8. Public for tests.
std::vector<int> processorsIn(std::string_view list);

}  // namespace tidegauge::wss
