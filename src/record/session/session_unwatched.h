// SessionUnwatched: which calls of which process are not watched, and why.
//
//   t        pid 41 maps libcuda, of which cuMemPoolCreate cannot be probed    add()
//   t+0.2 s  pid 41 is process 3 by now                                        assign(): its row
//
// Such a finding comes when a process maps a library: often before its first call, which gives the
// process its number, or near an exec that is not yet in order among the calls. So it waits a
// moment, and goes to the program that ran at that time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/incomplete.h"
#include "model/live/live_book.h"
#include "record/session/session_file.h"
#include "record/session/session_processes.h"

namespace tidegauge::record {

class SessionUnwatched {
 public:
  // `book` may be nullptr.
  SessionUnwatched(SessionFile& file, SessionProcesses& processes, model::LiveBook* book)
      : file_(file), processes_(processes), book_(book) {}

  enum class When {
    kFirstTry,  // what was not tried before
    kAgain,     // also what found no process
    kAtTheEnd,  // everything, even if it came just now
  };

  void add(const model::Unwatched& what, int64_t at_ns);
  void processSeen(uint32_t pid);  // what found no process is tried again
  void assign(int64_t now_ns, When when);
  void beginPart();  // writes everything again that concerns the next part
  // Which figures of a process are incomplete because of it.
  model::FigureSet incompleteOf(const SessionProcess& process) const;

 private:
  struct Waiting {
    model::Unwatched what;
    int64_t at_ns = 0;
    bool was_tried = false;  // its process had not been seen
  };
  bool settle(Waiting& waiting, const std::vector<uint32_t>& programs, int64_t now_ns, When when);
  void giveTo(SessionProcess& owner, const model::Unwatched& what);
  void writeWithoutProcess(const model::Unwatched& what);

  SessionFile& file_;
  SessionProcesses& processes_;
  model::LiveBook* book_;
  std::map<std::string, Waiting> waiting_;  // by pid and what
  bool has_more_ = false;                   // than are kept
  std::vector<model::Unwatched> without_process_;
};

}  // namespace tidegauge::record
