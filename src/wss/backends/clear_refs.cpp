#include "wss/backends/clear_refs.h"

#include <fcntl.h>
#include <unistd.h>

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
  Clearing done;
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
  return clear(process, "1", flush == Flush::kFree, clock);
}

base::Result<Clearing> clearFiles(const Process& process, Clock& clock) {
  return clear(process, "3", false, clock);
}

base::Result<Clearing> flushTlb(const Process& process, Clock& clock) {
  return clear(process, "4", false, clock);
}

base::Result<Clearing> clearWrites(const Process& process, Clock& clock) {
  return clear(process, "4", false, clock);
}

std::vector<std::string> limitsOfFlush(Flush flush) {
  if (flush == Flush::kFree) return {};
  return {
      "this kernel tracks soft-dirty pages, so the TLB is not flushed: what a busy core touches "
      "all the time can be missed, up to what its TLB holds (commonly 6 to 12 MiB of 4 KiB pages)"};
}

}  // namespace tidegauge::wss
