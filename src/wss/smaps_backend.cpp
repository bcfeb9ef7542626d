#include "wss/smaps_backend.h"

#include <fcntl.h>
#include <unistd.h>

#include "wss/clear_refs.h"

namespace tidegauge::wss {
namespace {

// 60,000 mappings make 80 MB.
constexpr size_t kMostText = size_t{4} << 30;

}  // namespace

base::Status SmapsBackend::check() {
  TG_ASSIGN_OR_RETURN(Process self, Process::open(getpid()));
  TG_ASSIGN_OR_RETURN(int file, self.openFile("clear_refs", O_WRONLY));
  close(file);
  return base::okStatus();
}

std::string SmapsBackend::how() const {
  return flush_ == Flush::kFree ? "clear_refs, flush of the TLB, smaps" : "clear_refs, smaps";
}

std::vector<std::string> SmapsBackend::limits() const { return limitsOfFlush(flush_); }

base::Result<Clearing> SmapsBackend::clear(const Process& process, Clock& clock) {
  return clearReferences(process, flush_, clock);
}

base::Result<std::string> readSmaps(const Process& process) {
  TG_ASSIGN_OR_RETURN(int file, process.openFile("smaps", O_RDONLY));
  int error_number = 0;
  std::string text = readAll(file, kMostText, error_number);
  close(file);
  if (error_number != 0 || text.empty()) return process.whyNothing("smaps", error_number);
  return text;
}

base::Result<Reading> SmapsBackend::read(const Process& process, Clock& clock) {
  Reading done;
  int64_t cpu_ns = clock.cpu_ns();
  done.pass.begin_ns = clock.now_ns();
  TG_ASSIGN_OR_RETURN(std::string text, readSmaps(process));
  done.pass.end_ns = clock.now_ns();  // parsing can wait
  done.uses = parseSmaps(text);
  // It was there to the end: a process that ends in between leaves a text that is only a part.
  if (auto status = process.check(); !status.ok()) return std::move(status.error());
  done.cost.cpu_ns = clock.cpu_ns() - cpu_ns;
  return done;
}

}  // namespace tidegauge::wss
