// RecordingBoard: the states of the open recordings, shared by the follower and the page.
//
//   follower ── say(0, {state, changed}) ──► board ──► api/follow   "recording, 3 s ago"
//            ◄──────── isWanted() ─────────        ◄── asked within the last seconds
//
// While nobody asks, because the page is paused, hidden or closed, nothing is read again.
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tidegauge::server {

enum class RecordingState : uint8_t {
  kRecording,  // more may follow
  kEnded,      // its recorder wrote its end
  kStopped,    // its recorder died without an end
};
std::string_view name(RecordingState state);  // "recording", "ended", "stopped"

struct RecordingStatus {
  using Clock = std::chrono::steady_clock;
  std::string path;
  RecordingState state = RecordingState::kRecording;
  Clock::time_point changed_at{};  // of the file, as far as known
  bool behind = false;             // it has changed since it was read
  double read_s = 0;               // computing time of the last reading
  double wait_s = 0;               // from the end of the last reading to the next
  std::string error{};             // why it could not be read again
};

class RecordingBoard {
 public:
  using Clock = RecordingStatus::Clock;

  explicit RecordingBoard(std::vector<RecordingStatus> recordings)
      : recordings_(std::move(recordings)) {}

  void say(size_t recording, RecordingStatus status) {
    std::lock_guard lock(mutex_);
    recordings_[recording] = std::move(status);
  }
  std::vector<RecordingStatus> all() const {
    std::lock_guard lock(mutex_);
    return recordings_;
  }
  void ask() {
    std::lock_guard lock(mutex_);
    asked_at_ = Clock::now();
  }
  bool isWanted() const {
    std::lock_guard lock(mutex_);
    return Clock::now() - asked_at_ < kPatience;
  }

 private:
  static constexpr std::chrono::seconds kPatience{5};
  mutable std::mutex mutex_;
  std::vector<RecordingStatus> recordings_;
  Clock::time_point asked_at_ = Clock::now();
};

}  // namespace tidegauge::server
