// Helper: a second process, started before the recorder gives up its privileges (capabilities.h).
// It does four things that the recorder may no longer do, and outlives it by a moment:
//
//   recorder ══ socket ══► helper: continue process 4711   it waits, and is another user's
//                                  signal 15 to the command  it runs as another user
//                                  open that mapping of 4711  its file was removed or replaced
//                                  thread 42 runs first       of the recorder: others wait for it
//   recorder killed ─────► end of the socket → SIGCONT to its process group
//
// The group is the recorder's: its command and that command's children, unless they created groups
// of their own. SIGCONT has no effect on a process that is not stopped. Signals other than SIGCONT
// go to the one process that was named as the command. Create it before anything else is open: it
// keeps copies of descriptors. The functions below try without it first. From any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace tidegauge::record {

class Helper {
 public:
  Helper();
  ~Helper();  // no longer needed
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  // Signals may go to this child of the recorder.
  void commandIs(pid_t pid);

 private:
  pid_t pid_ = -1;
};

// Lets a stopped process run.
void continueProcess(pid_t pid);
// The nice value of this thread, soon: with kFirstNice it runs before all others. Without the
// privilege nothing changes.
constexpr int kFirstNice = -20;
void setNice(int nice);
// A signal to the command.
void signalCommand(pid_t pid, int signal);
// A path to the file of a mapping that is no longer under its name: "/proc/self/fd/9". It is kept
// open, once per file. Empty: it cannot be opened.
std::string openRemoved(uint32_t pid, uint64_t start, uint64_t end);

}  // namespace tidegauge::record
