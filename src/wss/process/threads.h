// The threads of a process, for what has to look at each of them.
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

#include "base/result.h"
#include "wss/process/process.h"

namespace tidegauge::wss {

// A process with more threads is refused, since each costs descriptors or time.
inline constexpr size_t kMaxThreads = 1024;

// `what` needs them: "--backend spot". Errors: it has ended, or has too many.
base::Result<std::vector<pid_t>> threadsOf(const Process& process, std::string_view what);

}  // namespace tidegauge::wss
