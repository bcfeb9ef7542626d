#include "wss/process/threads.h"

#include <fmt/format.h>

#include <utility>

namespace tidegauge::wss {

base::Result<std::vector<pid_t>> threadsOf(const Process& process, std::string_view what) {
  std::vector<pid_t> threads = process.threads();
  TG_RETURN_IF_ERROR(process.check());
  if (threads.size() <= kMaxThreads) return threads;
  return base::Error{base::ErrorKind::kLimit,
                     fmt::format("process {} has {} threads, and {} supports at most {}",
                                 process.pid(), threads.size(), what, kMaxThreads),
                     std::nullopt, "--backend pte and smaps alone have no such limit"};
}

}  // namespace tidegauge::wss
