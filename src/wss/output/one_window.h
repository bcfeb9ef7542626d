// One process that is measured, and its windows: what the printers of one process are given.
#pragma once

#include "wss/choice/choose.h"
#include "wss/measure/measure.h"
#include "wss/output/rolling_windows.h"

namespace tidegauge::wss {

// The same for all windows; whoever prints keeps references.
struct OneSubject {
  const Process& process;
  const Choice& choice;
  const Plan& plan;
  const RollingWindows* rolling = nullptr;  // nullptr: no --rolling
  pid_t asked_pid = 0;                      // of the process, or of one of its threads
};

struct OneWindow {
  const Row& row;
  double unix_s = 0;  // when it was read
};

}  // namespace tidegauge::wss
