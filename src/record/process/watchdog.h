// Watchdog: a process that waits for nothing but the recorder's death. If that comes by SIGKILL in
// the very moment in which a program is stopped for it, somebody must let the program go on.
//
//   recorder ══ pipe ══► watchdog: reads; end of file without a word → SIGCONT to its process group
//
// The group is the recorder's: the command that it started and what that started, as long as they
// did not make groups of their own. SIGCONT means nothing to who is not stopped. Make it before
// anything else is open: it keeps copies of descriptors.
#pragma once

#include <sys/types.h>

namespace tidegauge::record {

class Watchdog {
 public:
  Watchdog();
  ~Watchdog();  // no more needed
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
};

}  // namespace tidegauge::record
