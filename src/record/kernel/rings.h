// Rings: what BPF programs send one by one, read into vectors. Memory calls are read by a thread of
// its own: who handles them may be busy for longer than the ring lasts (a file that is committed, a
// disk that is slow).
//
//   memory_ring ── every 5 ms ──► waiting ─┐
//   system_ring, name_ring, launch_ring ───┴─► takeX(): everything that is there
//
// A ring hands out nothing behind a record that is still being written. Who writes it may have lost
// its processor for some milliseconds, to another task or, of a virtual machine, to another
// machine: until then the end of a process, which comes in a ring of its own, must wait for the
// calls before it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "bpf/records.h"
#include "record/kernel/programs.h"

struct ring_buffer;

namespace tidegauge::record {

// How far a ring was written and read, in bytes since it was made.
class RingPlaces {
 public:
  RingPlaces() = default;
  ~RingPlaces();
  RingPlaces(const RingPlaces&) = delete;
  RingPlaces& operator=(const RingPlaces&) = delete;
  bool open(int map);  // false: errno
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

  // Until a process has news, at most so long.
  void wait(int timeout_ms);
  // Each adds to `into`.
  void takeSystem(std::vector<system_record>& into);
  // Until when takeSystem() has told all (kernel's clock).
  uint64_t systemReadAt() const { return system_read_at_; }
  void takeNames(std::vector<name_record>& into);
  // Until when all is there that was written (kernel's clock).
  uint64_t takeCalls(std::vector<memory_record>& memory, std::vector<launch_record>& launches);

 private:
  void drain();  // with the mutex held
  // All that was written by now; false: something before it is still being written.
  static bool readAll(ring_buffer* ring, const RingPlaces& places);
  ring_buffer* memory_ = nullptr;
  ring_buffer* system_ = nullptr;
  ring_buffer* names_ = nullptr;
  ring_buffer* launches_ = nullptr;  // only if each launch is asked for
  RingPlaces memory_places_, launch_places_, system_places_;
  std::mutex mutex_;
  std::condition_variable ends_;
  std::vector<memory_record> waiting_;
  uint64_t drained_at_ = 0;  // what was written before then is in `waiting_`
  bool is_over_ = false;
  std::thread drainer_;
  // The rings write here; they are handed out at once.
  std::vector<system_record> system_records_;
  std::vector<name_record> name_records_;
  std::vector<launch_record> launch_records_;
  uint64_t launches_read_at_ = 0, system_read_at_ = 0;  // as drained_at_
};

}  // namespace tidegauge::record
