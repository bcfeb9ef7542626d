// KernelCounts: takes launches and copies, which BPF programs sum in the kernel.
//
//   programs ── count ──► table a      every second, or when 16,384 of its rows are in use:
//                         table b      a and b are switched, then a is read and emptied
//
// A separate thread checks every few milliseconds, since the consumer of the counts may be busy.
//
// The kernel completes the switch only when no program can still use the old table
// (synchronize_rcu), so nothing is counted while it is read: every launch is in exactly one row
// that is taken exactly once, however many geometries there are. Launches that arrive faster than
// that are counted without their geometry (launches_beyond), and as a loss.
//
// Cost: 5 to 30 ms of waiting (no work) per switch, none if nothing was counted; 0.2 µs per row.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "bpf/records.h"
#include "record/kernel/programs.h"

namespace tidegauge::record {

// Removes and returns all rows of a hash that nothing writes to. Each row is returned once,
// whatever the kernel supports and wherever a batch ends.
template <class Key, class Value>
std::vector<std::pair<Key, Value>> emptyTable(int map);

struct TakenCounts {
  std::vector<std::pair<launch_key, uint64_t>> launches;
  std::vector<std::pair<beyond_key, uint64_t>> beyond;  // launches without a known geometry
  std::vector<std::pair<copy_key, copy_sum>> copies;
};

class KernelCounts {
 public:
  explicit KernelCounts(const Programs& programs);
  ~KernelCounts();
  KernelCounts(const KernelCounts&) = delete;
  KernelCounts& operator=(const KernelCounts&) = delete;
  void start();  // its thread
  // The counts since the last call.
  TakenCounts take();
  // This program has ended: it adds no more counts.
  void forget(uint32_t program);

 private:
  struct Tables {
    int outer = -1;
    std::array<int, 2> inner{-1, -1};
    int current = 0;  // index into `inner`: where programs count now
    uint32_t counted = 0;
    uint64_t rows_before = 0;  // of rows_added, at the last switch
  };
  bool isFilling() const;
  void takeNow();  // into `taken_`
  uint64_t rowsOf(const Tables& tables) const;
  template <class Key, class Value>
  std::vector<std::pair<Key, Value>> take(Tables& tables);

  std::mutex mutex_;  // guards everything below
  std::condition_variable ends_;
  bool is_over_ = false;
  std::thread keeper_;
  TakenCounts taken_;
  int rows_added_;
  int beyond_;
  Tables launches_, copies_;
  std::map<std::pair<uint32_t, uint16_t>, uint64_t> beyond_taken_;  // program, function
};

}  // namespace tidegauge::record
