// Follower: reads recordings again while they grow, beside what is shown.
//
//   run.sqlite grew ─► read it (own thread, own priority) ─► new OpenFiles ─► Application::replace
//        │                                                        the old ones answer until then
//        └ at most a tenth of the time: after a reading of 0.3 s none begins for 2.7 s
//
// The file of a recording with --max-size is another one when its next part begins. For a moment it
// has ended, is not there, or has nothing in it yet: no word of that is told unless it stays so.
//
// A process that was not there before becomes a new file; a file whose process did nothing stays as
// it is, with all that was computed for it. Nothing is read while nobody asks (recording_board.h).
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "analysis/labels/categories.h"
#include "readers/recording/file/growth.h"
#include "server/application.h"
#include "server/session/recording_board.h"

namespace tidegauge::server {

struct FollowedRecording {
  std::string path;
  readers::recording::Stamp read;  // of the file as it was before it was read
  double read_s = 0;               // of computing, how long that took
};

// Gives a session whose files say of which recording they are its board. Before it is shown.
void followRecordings(Session& session, const std::vector<FollowedRecording>& recordings);

class Follower {
 public:
  // `rules` for what memory is for, as the first reading used them; null: the built-in ones.
  Follower(Application& application, std::vector<FollowedRecording> recordings,
           std::shared_ptr<const analysis::CategoryRules> rules);
  ~Follower();

  // One look at every recording: reads what has changed, if it may be. True if something was read.
  // The thread calls it; tests call it themselves.
  bool look();
  void start();

 private:
  using Clock = RecordingStatus::Clock;
  struct Followed {
    FollowedRecording recording;
    readers::recording::Stamp seen;
    RecordingStatus status;
    bool had_writer = false;   // when it was read
    bool is_part = false;      // of a recording with --max-size
    bool has_end = false;      // the recorder's last word was read
    Clock::time_point next{};  // not before
  };

  RecordingState stateOf(const Followed& followed, const readers::recording::Stamp& now) const;
  bool lookAt(Followed& followed);
  bool readAgain(Followed& followed);
  void run(const std::stop_token& stop);

  Application& application_;
  std::shared_ptr<RecordingBoard> board_;
  std::vector<Followed> followed_;
  std::shared_ptr<const analysis::CategoryRules> rules_;
  uint64_t generation_ = 0;
  std::vector<std::shared_ptr<Session>> retired_;  // until the last answer from them is out
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace tidegauge::server
