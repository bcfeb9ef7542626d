// Rings: what BPF programs send one by one, read into vectors. Memory calls are read by a thread of
// its own: who handles them may be busy for longer than the ring lasts (a file that is committed, a
// disk that is slow).
//
//   memory_ring ── every 5 ms ──► waiting ─┐
//   system_ring, name_ring, launch_ring ───┴─► takeX(): everything that is there
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "bpf/records.h"
#include "record/programs.h"

struct ring_buffer;

namespace tidegauge::record {

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
  void takeNames(std::vector<name_record>& into);
  // Until when all is there that was written (kernel's clock).
  uint64_t takeCalls(std::vector<memory_record>& memory, std::vector<launch_record>& launches);

 private:
  void drain();  // with the mutex held
  ring_buffer* memory_ = nullptr;
  ring_buffer* system_ = nullptr;
  ring_buffer* names_ = nullptr;
  ring_buffer* launches_ = nullptr;  // only if each launch is asked for
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
};

}  // namespace tidegauge::record
