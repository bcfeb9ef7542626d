// Flushes what the processors have cached of a whole process, without a walk through all of its memory.
//
//   one table │·▓··▓▓···············▓▓·······▓·│  touched pages 64 or more apart: MADV_COLD takes both bits,
//                └─── one flush ─────┘             and x86 Linux flushes all rather than more than 33 pages
//
// clear_refs 4 does it too, but looks at every entry: 4.4 ms at 16 GiB, during which the process cannot map
// memory, and with soft-dirty bits it protects each page. Cost here: some 0.05 ms. Clears the bits of some 128 pages
// in a row, and of up to three more such if those were touched again. Where ranges are made cold anyway, one of them is
// widened, which takes half of that. arm64 flushes such ranges page by page: there it does nothing.
// Source: Linux, arch/x86/mm/tlb.c, tlb_single_page_flush_ceiling; mm/madvise.c, madvise_cold_or_pageout_pte_range.
#pragma once

#include <optional>

#include "wss/make_cold.h"
#include "wss/page_tables.h"
#include "wss/table_runs.h"

namespace tidegauge::wss {

// In one table a part of one mapping, around two touched pages of it.
struct WideSpan {
  uint64_t table = 0;
  AddressRange range;
  size_t first = 0, last = 0;  // entries of the table
};

// Of the mappings in a table that are `wanted` the first with touched pages that lie far enough apart, of which one is
// among the pages `from` to `to`.
std::optional<WideSpan> wideSpanOf(uint64_t table, page_table_kind kind, Entries entries,
                                   const std::vector<MappingUse>& uses, MappingWalk::Wanted wanted,
                                   size_t from = 0, size_t to = PAGE_TABLE_ENTRIES);
// Whether what an entry of each of its two pages says means that all was flushed: both are untouched. Of pages that other
// memory maps too, or that are locked, the bits stay, and then nothing is flushed; of those that were touched again at
// once it is not known.
bool wasFlushed(const WideSpan& span, page_table_kind kind, Entries entries);

struct WideFlush {
  bool is_done = false;  // wasFlushed(); false, too, if no table had such pages
  int64_t stall_ns = 0;
};
// Tries some of `tables`, in the order of addresses.
base::Result<WideFlush> flushWide(PageTables& reader, const Process& process,
                                  const TableRuns& tables, const std::vector<MappingUse>& uses,
                                  MappingWalk::Wanted wanted, Clock& clock);

// Makes ranges cold, each a part of one mapping in one table, in order, and one of them last and so wide that all is
// flushed, if that can be.
struct ColdAndFlush {
  MadeCold made;
  bool is_flushed = false;
};
base::Result<ColdAndFlush> makeColdAndFlush(PageTables& reader, const Process& process,
                                            std::vector<AddressRange> ranges,
                                            const std::vector<MappingUse>& uses,
                                            MappingWalk::Wanted wanted, Clock& clock);

}  // namespace tidegauge::wss
