#include "wss/pte_backend.h"

#include "wss/clear_refs.h"
#include "wss/costs.h"
#include "wss/page_sums.h"
#include "wss/read_maps.h"

namespace tidegauge::wss {
std::string PteBackend::how() const {
  return flush_ == Flush::kFree ? "clear_refs, flush of the TLB, accessed bits of the page tables"
                                : "clear_refs, accessed bits of the page tables";
}

std::vector<std::string> PteBackend::limits() const { return limitsOfFlush(flush_); }

std::optional<Cost> PteBackend::predicted(uint64_t rss_bytes) const {
  double clear_ns = pagesOf(rss_bytes) * kClearOfAPage_ns;
  return costOf(clear_ns + tablesFor(rss_bytes) * kReadOfATable_ns, clear_ns);
}

base::Result<Clearing> PteBackend::clear(const Process& process, Clock& clock) {
  return clearReferences(process, flush_, clock);
}

base::Result<Reading> PteBackend::read(const Process& process, Clock& clock) {
  Reading done;
  int64_t cpu_ns = clock.cpu_ns();
  done.pass.begin_ns = clock.now_ns();
  TG_ASSIGN_OR_RETURN(done.uses, readMaps(process));
  MappingWalk walk(done.uses, [](const Mapping&) { return true; });
  auto visit = [&](uint64_t address, page_table_kind kind, Entries entries) {
    uint64_t rss = 0;
    walk.visit(address, kind, entries, 0, PAGE_TABLE_ENTRIES,
               [&](MappingUse& use, const MappingSums& sums) {
                 use.sums.add(sums);
                 rss += sums.rss;
               });
    // What counts as memory at all: reserved huge pages do not.
    if (keeps_pages_ && rss != 0) done.pages.push_back(bitsOf(address, kind, entries));
  };
  TG_ASSIGN_OR_RETURN(bool is_there,
                      tables_.read(process.pid(), tablesOf(done.uses), PAGE_TABLE_ALL, visit));
  done.pass.end_ns = clock.now_ns();
  if (auto status = process.check(); !status.ok()) return std::move(status.error());
  if (!is_there) return process.whyNothing("maps", 0);
  done.cost.cpu_ns = clock.cpu_ns() - cpu_ns;
  return done;
}

}  // namespace tidegauge::wss
