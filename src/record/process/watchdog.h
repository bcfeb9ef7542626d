// Watchdog: a process that only waits for the recorder's death. If SIGKILL ends the recorder while
// a program is stopped for it, the watchdog lets that program continue.
//
//   recorder ══ pipe ══► watchdog: reads; an unexpected end of file → SIGCONT to its process group
//
// The group is the recorder's: its command and that command's children, unless they created groups
// of their own. SIGCONT has no effect on a process that is not stopped. Create it before anything
// else is open: it keeps copies of descriptors.
#pragma once

#include <sys/types.h>

namespace tidegauge::record {

class Watchdog {
 public:
  Watchdog();
  ~Watchdog();  // no longer needed
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
};

}  // namespace tidegauge::record
