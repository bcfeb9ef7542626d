// A cgroup of files, from which an experiment reclaims memory: memory.current falls when
// memory.reclaim is written.
#pragma once

#include <string>
#include <vector>

#include "support/bytes.h"
#include "unit/wss/fake_proc.h"
#include "unit/wss/fake_sys.h"
#include "wss/surveys/reclaimer.h"

namespace tidegauge::wss {

inline constexpr int64_t kWindow_ns = 1'000'000'000;
inline const std::string kTakenFolder = "/sys/fs/cgroup/shop/";

// A program with 100 MiB that touches 40 of them.
class TakenCgroup {
 protected:
  TakenCgroup() {
    for (const char* file : {"cgroup.procs", "memory.reclaim"}) sys_.write(kTakenFolder + file, "");
    sys_.write("/proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 1 0 1\n");
    tell();
    clock_.onSleep = [this] { run(); };
  }
  void tell() {
    sys_.write(kTakenFolder + "memory.current", std::to_string(current_) + "\n");
    sys_.write(kTakenFolder + "memory.stat",
               "workingset_refault_anon " + std::to_string(back_ / 4096) + "\npgscan 1\n");
    sys_.write(kTakenFolder + "memory.pressure", "some total=" + std::to_string(waited_us_) + "\n");
  }
  // What the kernel does when memory.reclaim is written happens at the first sleep here.
  void run() {
    std::string wanted = sys_.read(kTakenFolder + "memory.reclaim");
    if (!wanted.empty()) {
      sys_.write(kTakenFolder + "memory.reclaim", "");
      asked_.push_back(std::stoull(wanted));
      current_ -= asked_.back();
    }
    if (current_ < touched_) {
      back_ += touched_ - current_;
      current_ = touched_;
    }
    waited_us_ += wait_us_;
    tell();
  }
  base::Result<Reclaimer> reclaimer() {
    return Reclaimer::open(MemoryScope::ofCgroup("/shop", sys_.root()), 10);
  }
  FakeSys sys_;
  FakeClock clock_{10};
  uint64_t current_ = 100 * kMiB, touched_ = 40 * kMiB, back_ = 0, waited_us_ = 0, wait_us_ = 0;
  std::vector<uint64_t> asked_;
};

}  // namespace tidegauge::wss
