#include "wss/pte/read_tables.h"

#include "wss/pte/table_runs.h"

namespace tidegauge::wss {
namespace {

// Programs that reserve addresses map more than they have in memory: CUDA, allocators, sanitizers
// (20 TB). Asking for each GiB first costs as much as 1 in 512 of their tables.
constexpr uint64_t kMaxUnasked = 4 * kGiant;

}  // namespace

base::Result<std::vector<uint64_t>> emptyGiants(PageTables& tables, const Process& process,
                                                const std::vector<MappingUse>& uses,
                                                MappingWalk::Wanted wanted) {
  uint64_t bytes = 0;
  for (const MappingUse& use : uses)
    if (wanted(use.mapping)) bytes += use.mapping.end - use.mapping.start;
  if (bytes <= kMaxUnasked) return std::vector<uint64_t>{};
  return emptyOf(tables, process, giantsOf(uses, wanted));
}

base::Result<std::vector<uint64_t>> emptyOf(PageTables& tables, const Process& process,
                                            std::span<const uint64_t> giants) {
  std::vector<uint64_t> empty;
  if (giants.empty()) return empty;
  auto visit = [&](uint64_t address, page_table_kind kind, Entries) {
    if (kind == PAGE_TABLE_NONE_NEAR) empty.push_back(address);
  };
  TG_ASSIGN_OR_RETURN(bool is_there, tables.read(process.thread(), giants, PAGE_TABLE_KIND, visit));
  if (!is_there) return process.whyNothing("maps", 0);
  return empty;
}

base::Result<uint64_t> readTables(PageTables& tables, const Process& process,
                                  std::vector<MappingUse>& uses, MappingWalk::Wanted wanted,
                                  std::vector<PageBits>* pages, std::vector<Frame>* frames,
                                  const Amend& amend) {
  uint64_t unread = 0;
  MappingWalk walk(uses, wanted);
  auto visit = [&](uint64_t address, page_table_kind kind, Entries as_read) {
    if (kind == PAGE_TABLE_FAILED) unread += kTable;
    Entries entries = amend ? amend(address, kind, as_read) : as_read;
    uint64_t rss = 0;
    walk.visit(address, kind, entries, 0, PAGE_TABLE_ENTRIES,
               [&](MappingUse& use, const MappingSums& sums, size_t from, size_t to) {
                 use.sums.add(sums);
                 rss += sums.rss;
                 // What counts as memory at all: reserved huge pages do not.
                 if (frames != nullptr && sums.rss != 0)
                   addFrames(*frames, kind, entries, from, to);
               });
    if (pages != nullptr && rss != 0) pages->push_back(bitsOf(address, kind, entries));
  };
  TG_ASSIGN_OR_RETURN(std::vector<uint64_t> empty, emptyGiants(tables, process, uses, wanted));
  TG_ASSIGN_OR_RETURN(bool is_there,
                      tables.read(process.thread(), tablesOf(uses, wanted, empty).addresses(),
                                  PAGE_TABLE_ALL, visit));
  if (!is_there) return process.whyNothing("maps", 0);
  return unread;
}

}  // namespace tidegauge::wss
