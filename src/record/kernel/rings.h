// Rings: reads the records of BPF programs into vectors. A separate thread reads memory calls,
// since the consumer may be busy for longer than the ring lasts (a commit, a slow disk).
//
//   memory_ring ── every 5 ms ──► waiting ─┐
//   system_ring, name_ring, launch_ring ───┴─► takeX(): everything that is there
//
// A ring returns nothing after a record that is still being written. Its writer may have lost its
// processor for some milliseconds, to another task or, in a virtual machine, to another machine.
// Until then, the end of a process, which arrives in another ring, must wait for the calls before
// it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "bpf/records.h"
#include "record/kernel/programs.h"
#include "record/kernel/seen_launch.h"

struct ring_buffer;

namespace tidegauge::record {

// How far a ring was written and read, in bytes since its creation.
class RingPlaces {
 public:
  RingPlaces() = default;
  ~RingPlaces();
  RingPlaces(const RingPlaces&) = delete;
  RingPlaces& operator=(const RingPlaces&) = delete;
  bool open(int map);  // false: errno
  bool isOpen() const { return read_ != nullptr && written_ != nullptr; }
  uint64_t written() const { return __atomic_load_n(written_, __ATOMIC_ACQUIRE); }
  uint64_t read() const { return __atomic_load_n(read_, __ATOMIC_ACQUIRE); }

 private:
  const uint64_t* read_ = nullptr;  // each in a page that the kernel shares
  const uint64_t* written_ = nullptr;
};

// Four rings, each with the places that were written and read: hence its many members.
class Rings {
 public:
  Rings() = default;
  ~Rings();
  Rings(const Rings&) = delete;
  Rings& operator=(const Rings&) = delete;
  bool open(const Programs& programs, bool launch_events);  // false: errno

  // Waits for an event of a process, at most this long.
  void wait(int timeout_ms);
  // Each appends to `into`.
  void takeSystem(std::vector<system_record>& into);
  // The time up to which takeSystem() has returned everything (kernel's clock).
  uint64_t systemReadAt() const { return system_read_at_; }
  void takeNames(std::vector<name_record>& into);
  // Returns the time up to which everything written was taken (kernel's clock).
  uint64_t takeCalls(std::vector<memory_record>& memory, std::vector<SeenLaunch>& launches);

 private:
  void drain();  // call it with the mutex held
  // Reads everything written by now; false: an earlier record is still being written.
  static bool readAll(ring_buffer* ring, const RingPlaces& places);
  ring_buffer* memory_ = nullptr;
  ring_buffer* system_ = nullptr;
  ring_buffer* names_ = nullptr;
  ring_buffer* launches_ = nullptr;  // only if each launch is recorded
  RingPlaces memory_places_, launch_places_, system_places_;
  std::mutex mutex_;
  std::condition_variable ends_;
  std::vector<memory_record> waiting_;
  uint64_t drained_at_ = 0;  // records from before this time are in `waiting_`
  bool is_over_ = false;
  std::thread drainer_;
  // Buffers that the rings write to; emptied at once.
  std::vector<system_record> system_records_;
  std::vector<name_record> name_records_;
  std::vector<SeenLaunch> launch_records_;
  uint64_t launches_read_at_ = 0, system_read_at_ = 0;  // like drained_at_
};

}  // namespace tidegauge::record
