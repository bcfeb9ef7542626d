#include "wss/backends/clear_refs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace tidegauge::wss {
namespace {

base::Status writeWord(const Process& process, int file, std::string_view word) {
  ssize_t written = 0;
  do written = pwrite(file, word.data(), word.size(), 0);
  while (written < 0 && errno == EINTR);
  if (written < 0) return process.whyNothing("clear_refs", errno);
  return base::okStatus();
}

base::Result<Clearing> clear(const Process& process, std::string_view which, bool flush,
                             Clock& clock) {
  TG_ASSIGN_OR_RETURN(int file, process.openFile("clear_refs", O_WRONLY));
  Clearing done{.sees_guests = flush || which == "4"};
  int64_t cpu_ns = clock.cpu_ns();
  done.pass.begin_ns = clock.now_ns();
  base::Status status = writeWord(process, file, which);
  // Only after this is every touch seen, whatever the processors have cached.
  if (status.ok() && flush) status = writeWord(process, file, "4");
  done.pass.end_ns = clock.now_ns();
  close(file);
  if (!status.ok()) return std::move(status.error());
  done.cost = {clock.cpu_ns() - cpu_ns, done.pass.duration_ns()};
  return done;
}

}  // namespace

base::Result<Clearing> clearReferences(const Process& process, Flush flush, Clock& clock) {
  TG_ASSIGN_OR_RETURN(Clearing done, clear(process, "1", flush == Flush::kFree, clock));
  if (flush != Flush::kFree) {
    TG_ASSIGN_OR_RETURN(Clearing flushed, flushTlb(process, flush, clock));
    add(done, flushed);
  }
  return done;
}

base::Result<Clearing> clearFiles(const Process& process, Clock& clock) {
  return clear(process, "3", false, clock);
}

base::Result<Clearing> flushTlb(const Process& process, Flush flush, Clock& clock) {
  if (flush == Flush::kFree) return clear(process, "4", false, clock);
  if (flush == Flush::kSwitches) return flushBySwitches(clock);
  return Clearing{.is_flushed = false};
}

void add(Clearing& done, const Clearing& flush) {
  done.pass.end_ns = std::max(done.pass.end_ns, flush.pass.end_ns);
  done.cost.cpu_ns += flush.cost.cpu_ns;
  done.cost.stall_ns = std::max(done.cost.stall_ns, flush.cost.stall_ns);
  done.is_flushed = flush.is_flushed;
  done.sees_guests |= flush.sees_guests;
  done.ring_cpu_ns += flush.ring_cpu_ns;
}

base::Result<Clearing> clearWrites(const Process& process, Clock& clock) {
  return clear(process, "4", false, clock);
}

}  // namespace tidegauge::wss
