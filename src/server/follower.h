// Follower: reads growing recordings again in the background.
//
//   run.sqlite grew ─► read it (own thread, own priority) ─► new OpenFiles ─► Application::replace
//        │                                                        the old ones answer until then
//        └ at most a tenth of the time: after a reading of 0.3 s, none begins for 2.7 s; readings
//          below 0.1 s at most a quarter
//
// Each reading continues the one before (readers/recording/growing_recording.h). Once the last
// answer of a session is sent, the traces of its recordings are continued by the next reading, with
// their indexes: so what a reading costs depends on what is new.
//
// With --max-size, the name of a recording gets another file when its next part begins. For a
// moment, the recording has ended, is missing, or is empty: these states are reported only if they
// last.
//
// A new process becomes a new file; a file whose process did nothing keeps everything that was
// computed for it. Nothing is read while nobody asks (recording_board.h).
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/labels/categories.h"
#include "analysis/trace/analysed_trace.h"
#include "model/recorded_work.h"
#include "readers/recording/file/growth.h"
#include "readers/recording/growing_recording.h"
#include "server/application.h"
#include "server/session/recording_board.h"

namespace tidegauge::server {

struct FollowedRecording {
  std::string path;
  readers::recording::Stamp read;  // of the file, taken before it was read
  double read_s = 0;               // computing time of the reading
  // What read it, so that the next reading continues; null: that one reads everything.
  std::shared_ptr<readers::recording::GrowingRecording> reader{};
};

// Gives a session whose files name their recordings a board. Call it before the session is shown.
void followRecordings(Session& session, const std::vector<FollowedRecording>& recordings);

class Follower {
 public:
  // `rules` for what memory is for, as in the first reading; null: the built-in ones.
  Follower(Application& application, std::vector<FollowedRecording> recordings,
           std::shared_ptr<const analysis::CategoryRules> rules);
  ~Follower();

  // Checks every recording once, and reads what has changed if it may. True if something was read.
  // The thread calls it, and tests do.
  bool look();
  void start();
  // How many traces were continued, so far.
  uint64_t continuedTraces() const;

 private:
  using Clock = RecordingStatus::Clock;
  // What was computed of a trace that the reader got back.
  struct Indexes {
    std::shared_ptr<const model::RecordedWork> work;
    std::unique_ptr<analysis::AnalysedTrace> analysed;
    Maps maps;
  };
  struct Followed {
    FollowedRecording recording;
    readers::recording::Stamp seen;
    RecordingStatus status;
    bool had_writer = false;   // when it was read
    bool is_part = false;      // of a recording with --max-size
    bool has_end = false;      // the recorder's end was read
    Clock::time_point next{};  // not before this time
    std::vector<Indexes> indexes{};
  };

  RecordingState stateOf(const Followed& followed, const readers::recording::Stamp& now) const;
  bool lookAt(Followed& followed);
  bool readAgain(Followed& followed);
  void run(const std::stop_token& stop);
  void reuseRetired();
  void reuse(std::shared_ptr<OpenFile> file);
  // What is continued for this trace. Empty: nothing.
  struct Before {
    Indexes indexes;
    model::Continuation continuation;
  };
  static Before beforeOf(Followed& followed, const model::Trace& trace);

  Application& application_;
  std::shared_ptr<RecordingBoard> board_;
  std::vector<Followed> followed_;
  std::shared_ptr<const analysis::CategoryRules> rules_;
  uint64_t generation_ = 0;
  std::vector<std::shared_ptr<Session>> retired_;  // until their last answer is sent
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace tidegauge::server
