#include "readers/torch/unpack/lives_while_reading.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace tidegauge::readers::torch {

LivesWhileReading::~LivesWhileReading() { stop(); }

void LivesWhileReading::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LivesWhileReading::take(EventChunk&& chunk) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.size() < kMaxWaiting || failed_; });
    if (failed_) return;
    waiting_.push_back(std::move(chunk));
  }
  if (!thread_.joinable() && !start()) return;
  changed_.notify_all();
}

// False: there is no further thread. Then lives are joined after reading.
bool LivesWhileReading::start() {
  try {
    thread_ = std::thread([this] { run(); });
    return true;
  } catch (const std::system_error&) {
    std::lock_guard lock(mutex_);
    failed_ = true;
    waiting_.clear();
    return false;
  }
}

void LivesWhileReading::forget() {
  {
    std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  stop();
  started_.clear();
  list_ = 0;
  ends_ = failed_ = false;
}

model::StartedDevices LivesWhileReading::finish() {
  stop();
  if (failed_) started_.clear();
  return std::move(started_);
}

void LivesWhileReading::run() {
  for (;;) {
    EventChunk chunk;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      chunk = std::move(waiting_.front());
      waiting_.pop_front();
    }
    changed_.notify_all();
    try {
      add(chunk);
    } catch (const std::bad_alloc&) {
      std::lock_guard lock(mutex_);
      failed_ = true;
      waiting_.clear();
      changed_.notify_all();
      return;
    }
  }
}

void LivesWhileReading::add(const EventChunk& chunk) {
  // Of the smallest kind, so that columns rarely move. Pages that stay empty cost no memory.
  constexpr uint64_t kBytesPerEvent = 48, kBytesPerAllocation = 3 * kBytesPerEvent;
  static const model::Device kWithoutGaps;
  if (started_.empty() || chunk.list != list_) {
    list_ = chunk.list;
    subject_pages_ = {};
    auto& next = started_.emplace_back(std::make_unique<model::StartedLives>());
    next->event_begin = chunk.first_row;
    uint64_t left = input_bytes_ - std::min(input_bytes_, chunk.bytes_read);
    next->lives.begin(kWithoutGaps, chunk.rows() + left / kBytesPerAllocation);
    next->subject.reserve(chunk.rows() + left / kBytesPerEvent);
  }
  model::StartedLives& lives = *started_.back();
  size_t begin = lives.subject.size();
  lives.events += chunk.rows();
  subject_pages_.upTo(begin + chunk.rows(), lives.subject);
  lives.subject.resize(begin + chunk.rows(), model::kNoBlock);
  lives.lives.addRows(chunk.rowsAt(static_cast<model::Step>(begin), lives.subject.data() + begin));
}

}  // namespace tidegauge::readers::torch
