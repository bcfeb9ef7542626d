// CallOrder: orders the records of several rings by time. Records after the time up to which all
// rings are read wait, because an earlier one may still arrive.
//
//   memory   3 · 7 · 12 ─┐
//   launches 5           ├─► 3 5 6 7, at 10; 12 waits
//   system   6           ─┘
//
// Cost: a stable sort of the records since the last time, which are nearly sorted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bpf/records.h"
#include "record/kernel/seen_launch.h"

namespace tidegauge::record {

class CallOrder {
 public:
  // Where the rings add what they have.
  std::vector<memory_record>& memory() { return memory_; }
  std::vector<SeenLaunch>& launches() { return launches_; }
  std::vector<system_record>& system() { return system_; }

  // From now on no later records are passed on (the kernel's clock).
  void endAt(uint64_t time_ns) { end_ns_ = time_ns; }
  bool isAtEnd() const { return ordered_until_ns_ >= end_ns_; }

  // Passes on everything up to then, in order: to.memoryCall(), to.launched(), to.inOrder(); before
  // each call to.beforeCall(its number, from 1). Returns the number of memory calls.
  template <class To>
  size_t handOut(uint64_t until_ns, To& to);

 private:
  template <class Record, class Of, class Time>
  static void sortBy(std::vector<Record>& records, Time Of::*time) {
    std::stable_sort(records.begin(), records.end(),
                     [&](const Record& a, const Record& b) { return a.*time < b.*time; });
  }
  template <class Record>
  static void dropFirst(std::vector<Record>& records, size_t count) {
    records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(count));
  }
  template <class To>
  void handOutSystem(uint64_t until_ns, To& to) {
    size_t done = 0;
    while (done < system_.size() && system_[done].time_ns <= until_ns) to.inOrder(system_[done++]);
    dropFirst(system_, done);
  }

  std::vector<memory_record> memory_;
  std::vector<SeenLaunch> launches_;
  std::vector<system_record> system_;
  uint64_t ordered_until_ns_ = 0, end_ns_ = UINT64_MAX;
};

template <class To>
size_t CallOrder::handOut(uint64_t until_ns, To& to) {
  until_ns = std::min(until_ns, end_ns_);
  sortBy(memory_, &memory_record::end_ns);
  sortBy(launches_, &launch_record::time_ns);
  sortBy(system_, &system_record::time_ns);
  size_t calls = 0, launches = 0;
  for (size_t done = 0;;) {
    uint64_t call_ns = calls < memory_.size() ? memory_[calls].end_ns : UINT64_MAX;
    uint64_t launch_ns = launches < launches_.size() ? launches_[launches].time_ns : UINT64_MAX;
    uint64_t next_ns = std::min(call_ns, launch_ns);
    if (next_ns > until_ns) break;
    to.beforeCall(++done);
    if (!system_.empty() && system_.front().time_ns <= next_ns) handOutSystem(next_ns, to);
    if (launch_ns < call_ns)
      to.launched(launches_[launches++]);
    else
      to.memoryCall(memory_[calls++]);
  }
  handOutSystem(until_ns, to);
  dropFirst(memory_, calls);
  dropFirst(launches_, launches);
  ordered_until_ns_ = until_ns;
  return calls;
}

}  // namespace tidegauge::record
