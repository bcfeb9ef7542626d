// Why /proc may not show a process that exists: it is not mounted here, or it hides the processes
// of other users (mount option hidepid). kill() with signal 0 knows them all the same.
//
//   /proc           kill(4711, 0)
//   no 4711         ESRCH           there is no such process
//   no 4711         EPERM, or done  /proc hides it
//
// Cost: two calls, after a process was not found. Source: proc(5), hidepid.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace tidegauge::wss {

// Absent: /proc is whole, as far as is known.
std::optional<base::Error> whyNotInProc(pid_t pid, const std::string& proc = "/proc");
// The same for processes that are searched by name: whether those of other users are hidden.
std::optional<base::Error> whyProcIsNotWhole(const std::string& proc = "/proc");

}  // namespace tidegauge::wss
