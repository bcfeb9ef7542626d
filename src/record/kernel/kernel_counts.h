// KernelCounts: launches and copies, which BPF programs add up in the kernel, taken from there.
//
//   programs ── count ──► table a      every second, or when 16,384 of its rows are in use:
//                         table b      a and b change places, then a is read and emptied
//
// A thread of its own looks every few milliseconds: who hands out what was taken may be busy.
//
// The kernel answers the change of places only when no program can still be in the old table
// (synchronize_rcu), so nothing is counted while it is read: every launch is in exactly one row
// that is taken exactly once, however many geometries there are. What comes faster than that is
// counted without its geometry (launches_beyond), and as a loss.
//
// Cost: 5 to 30 ms of waiting (no work) per change, none where nothing was counted; 0.2 µs per row.
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

// Takes away all rows of a hash that nobody writes to. It does not matter what the kernel can do
// and where a batch ends: each row is told once.
template <class Key, class Value>
std::vector<std::pair<Key, Value>> emptyTable(int map);

struct TakenCounts {
  std::vector<std::pair<launch_key, uint64_t>> launches;
  std::vector<std::pair<beyond_key, uint64_t>> beyond;  // launches whose geometry is not known
  std::vector<std::pair<copy_key, copy_sum>> copies;
};

class KernelCounts {
 public:
  explicit KernelCounts(const Programs& programs);
  ~KernelCounts();
  KernelCounts(const KernelCounts&) = delete;
  KernelCounts& operator=(const KernelCounts&) = delete;
  void start();  // its thread
  // Since the last time.
  TakenCounts take();
  // Nothing of this program comes any more.
  void forget(uint32_t program);

 private:
  struct Tables {
    int outer = -1;
    std::array<int, 2> inner{-1, -1};
    int current = 0;  // of `inner`: where programs count now
    uint32_t counted = 0;
    uint64_t rows_before = 0;  // of rows_added, when they last changed places
  };
  bool isFilling() const;
  void takeNow();  // into `taken_`
  uint64_t rowsOf(const Tables& tables) const;
  template <class Key, class Value>
  std::vector<std::pair<Key, Value>> take(Tables& tables);

  std::mutex mutex_;  // of all that follows
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
