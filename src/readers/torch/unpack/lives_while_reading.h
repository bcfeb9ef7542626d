// LivesWhileReading: joins events into lives of blocks while later events are read, in a thread of
// its own.
//
//   reader   ├ chunk 0 ┤├ chunk 1 ┤├ chunk 2 ┤ … assemble ┤
//   lives                ├ chunk 0 ┤├ chunk 1 ┤├ chunk 2 ┤  finish: sizes, segments, final state
//
// Cost: the memory of at most kMaxWaiting chunks, mostly of 1 MB. On one processor it saves
// nothing, and costs a copy of the events (event_chunk.h).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/memory/pages_ahead.h"
#include "model/lives/started_lives.h"
#include "readers/torch/columns/event_chunk.h"

namespace tidegauge::readers::torch {

class LivesWhileReading {
 public:
  explicit LivesWhileReading(uint64_t input_bytes) : input_bytes_(input_bytes) {}
  LivesWhileReading(const LivesWhileReading&) = delete;
  LivesWhileReading& operator=(const LivesWhileReading&) = delete;
  ~LivesWhileReading();

  // In the reader's thread. Waits if too many chunks wait.
  void take(EventChunk&& chunk);
  // What was taken is void.
  void forget();
  // Waits for the last chunk. One element per device that was taken.
  model::StartedDevices finish();

 private:
  static constexpr size_t kMaxWaiting = 8;

  bool start();
  void run();
  void add(const EventChunk& chunk);
  void stop();

  uint64_t input_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<EventChunk> waiting_;
  bool ends_ = false;
  bool failed_ = false;  // for lack of memory or threads: nothing is known then
  std::thread thread_;   // started with the first chunk
  // Only thread_ uses these, until it has ended.
  uint32_t list_ = 0;
  model::StartedDevices started_;
  base::PagesAhead subject_pages_;  // of the last one
};

}  // namespace tidegauge::readers::torch
