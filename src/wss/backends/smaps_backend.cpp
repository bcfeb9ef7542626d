#include "wss/backends/smaps_backend.h"

#include <fcntl.h>
#include <unistd.h>

#include "wss/backends/clear_refs.h"
#include "wss/backends/costs.h"

namespace tidegauge::wss {

base::Status SmapsBackend::check() {
  TG_ASSIGN_OR_RETURN(Process self, Process::open(getpid()));
  TG_ASSIGN_OR_RETURN(int file, self.openFile("clear_refs", O_WRONLY));
  close(file);
  return base::okStatus();
}

std::string SmapsBackend::how() const { return "clear_refs" + wordsOf(flush_) + ", smaps"; }

std::vector<std::string> SmapsBackend::limits() const {
  std::vector<std::string> limits = limitsOfFlush(flush_);
  limits.push_back(
      "of pages that several processes map (libraries, "
      "shared memory) it counts what any of them touched");
  return limits;
}

std::optional<Cost> SmapsBackend::predicted(const Resident& resident, size_t mappings) const {
  double clear_ns = pagesOf(resident.bytes) * kClearOfAPage_ns;
  return costOf(clear_ns + pagesOf(resident.bytes) * kSmapsOfAPage_ns, clear_ns, kMappingBySmaps,
                mappings);
}

base::Result<Clearing> SmapsBackend::clear(const Process& process, Clock& clock) {
  return clearReferences(process, flush_, clock);
}

base::Result<Reading> SmapsBackend::read(const Process& process, Clock& clock) {
  Reading done;
  int64_t cpu_ns = clock.cpu_ns();
  done.pass.begin_ns = clock.now_ns();
  TG_ASSIGN_OR_RETURN(std::string text, process.readFile("smaps"));
  done.pass.end_ns = clock.now_ns();  // parsing can wait
  done.uses = parseSmaps(text);
  // The process existed to the end: if it ends in between, the text is incomplete.
  if (auto status = process.check(); !status.ok()) return std::move(status.error());
  done.cost.cpu_ns = clock.cpu_ns() - cpu_ns;
  return done;
}

}  // namespace tidegauge::wss
