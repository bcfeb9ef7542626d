// A recorder that writes no file, for as long as someone looks: monitor and top.
//
//   auto live = LiveSession::start(targets);       // error: privilege, no such process
//   while (!live->stopped()) live->step(); …       // 5 ms of listening; then look at session()
//
// One thread. Ends at SIGINT or SIGTERM; what the recorder says about libraries goes to standard
// error unless it shall be quiet.
#pragma once

#include <memory>
#include <utility>

#include "cli/watch/live_options.h"
#include "record/process/helper.h"
#include "record/recorder.h"
#include "record/session/session.h"

namespace tidegauge::cli {

class LiveSession {
 public:
  struct Wishes {
    bool quiet = false;  // says nothing about libraries
    bool stacks =
        false;  // of driver calls; they cost time, and the tables of their libraries memory
    bool keeps_privileges = false;    // something beside the recorder takes more than it does
    model::LiveBook* book = nullptr;  // to be kept, too; lives longer
  };
  static base::Result<std::unique_ptr<LiveSession>> start(const LiveTargets& targets,
                                                          const Wishes& wishes);

  base::Status step(int timeout_ms = 5);
  static bool stopped();
  const record::Session& session() const { return session_; }
  const record::Recorder& recorder() const { return *recorder_; }

 private:
  LiveSession(const Wishes& wishes, std::unique_ptr<record::Helper> helper)
      : quiet_(wishes.quiet), helper_(std::move(helper)), session_(std::nullopt, wishes.book) {}
  bool quiet_;
  std::unique_ptr<record::Helper> helper_;
  record::Session session_;
  std::unique_ptr<record::Recorder> recorder_;
  size_t said_ = 0;
};

int64_t nowSinceEpoch_ns();

}  // namespace tidegauge::cli
