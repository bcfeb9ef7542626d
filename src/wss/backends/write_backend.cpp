#include "wss/backends/write_backend.h"

#include <algorithm>

#include "wss/backends/clear_refs.h"
#include "wss/pages/own_page.h"
#include "wss/pages/pagemap.h"

namespace tidegauge::wss {

base::Status WriteBackend::check() {
  auto entry = OwnPage().pagemapEntry();
  if (entry && (*entry & kPagemapSoftDirty) != 0) return base::okStatus();
  return base::Error{
      base::ErrorKind::kMissingFeature,
      entry ? "this kernel does not mark pages that are written (soft-dirty)"
            : "/proc/self/pagemap cannot be read",
      std::nullopt,
      "It requires CONFIG_MEM_SOFT_DIRTY, as Debian's kernels have; userfaultfd would report to a "
      "program its own memory only, and --backend pte or smaps report reads and writes together"};
}

std::vector<std::string> WriteBackend::limits() const {
  return {
      "mappings that were made, grown or merged in the "
      "window count as written, as far as they are in memory",
      "each page that the process writes first in a window costs it a fault"};
}

base::Result<Clearing> WriteBackend::clear(const Process& process, Clock& clock) {
  return clearWrites(process, clock);
}

base::Result<Reading> WriteBackend::read(const Process& process, Clock& clock) {
  Reading done;
  int64_t cpu_ns = clock.cpu_ns();
  TG_ASSIGN_OR_RETURN(std::string text, process.readFile("smaps"));
  done.uses = parseSmaps(text);
  // Reserved addresses have an entry for each page too: 32 GB of them for 16 TB.
  std::vector<MappingUse> with_memory;
  std::vector<size_t> places;
  for (size_t i = 0; i < done.uses.size(); ++i) {
    done.uses[i].sums.referenced = 0;
    if (done.uses[i].sums.rss == 0) continue;
    with_memory.push_back({done.uses[i].mapping, {}});
    places.push_back(i);
  }
  done.pass.begin_ns = clock.now_ns();
  TG_RETURN_IF_ERROR(
      readPagemap(process, with_memory, [&](size_t i, std::span<const uint64_t> entries) {
        constexpr uint64_t kWritten = kPagemapPresent | kPagemapSoftDirty;
        auto pages = std::ranges::count_if(
            entries, [](uint64_t entry) { return (entry & kWritten) == kWritten; });
        done.uses[places[i]].sums.referenced += static_cast<uint64_t>(pages) * kPage;
      }));
  done.pass.end_ns = clock.now_ns();
  if (auto status = process.check(); !status.ok()) return std::move(status.error());
  done.cost.cpu_ns = clock.cpu_ns() - cpu_ns;
  // More pages may have appeared between the text and the entries, and so may pages that are not
  // memory (the zero page).
  for (MappingUse& use : done.uses)
    use.sums.referenced = std::min(use.sums.referenced, use.sums.rss);
  return done;
}

}  // namespace tidegauge::wss
