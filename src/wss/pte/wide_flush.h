// Flushes what the processors have cached of a whole process, without a walk through all of its
// memory.
//
//   tables │·······▓··▓▓······│··········▓▓·······▓·│  touched pages 40 or more apart: MADV_COLD
//                  └────── one flush ─────┘            clears both bits, and x86 Linux flushes all
//                                                     rather than more than 33 pages
//
// clear_refs 4 does it too, but visits every entry and every mapping: 4.4 ms at 16 GiB, 21 with
// 60,000 mappings, during which the process cannot map memory, and with soft-dirty bits it protects
// each page. Cost here: some 0.05 ms. Clears the bits of some 128 consecutive pages (at most those
// of two tables), and of up to three more such ranges if those were touched again. If ranges are
// made cold anyway, one of them is widened, which takes half of that. arm64 flushes such ranges
// page by page, so this does nothing there.
// Source: Linux, arch/x86/mm/tlb.c, tlb_single_page_flush_ceiling; mm/madvise.c,
// madvise_cold_or_pageout_pte_range.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "wss/pte/make_cold.h"
#include "wss/pte/page_tables.h"
#include "wss/pte/table_runs.h"

namespace tidegauge::wss {

// Entries of consecutive page tables; zeros if one is not a table of pages.
struct Stretch {
  uint64_t begin = 0;
  std::span<const __u64> entries;
  uint64_t end() const { return begin + entries.size() * kPage; }
  __u64 at(uint64_t page) const { return entries[(page - begin) / kPage]; }
};

constexpr size_t kFarApart = 40;  // pages: more than 33, the kernel's default limit

// A part of one mapping inside a stretch, around two of its touched pages.
struct WideSpan {
  AddressRange range;
  uint64_t first = 0, last = 0;  // addresses of the two
};

// Of the `wanted` mappings in a stretch, the first with touched pages that are far enough apart, of
// which one is `within` those pages.
std::optional<WideSpan> wideSpanOf(const Stretch& stretch, const std::vector<MappingUse>& uses,
                                   MappingWalk::Wanted wanted,
                                   AddressRange within = {0, ~uint64_t{0}});
// Whether the page was made cold: its entry is untouched. The bit stays for a page that other
// memory maps too, or that is locked; for one that was touched again at once, the result is
// unknown. If both were made cold, everything was flushed.
bool isCold(uint64_t page, page_table_kind kind, Entries entries);

// What is known about a span before it is made cold.
enum class Chance : uint8_t {
  kNone,   // it must not be made cold
  kMaybe,  // whether it flushed must be checked afterwards
  kSure,   // it will, unless reclaim takes a page off its list at that moment
};
using Judge = std::function<Chance(const WideSpan&, const Stretch&)>;

struct WideFlush {
  bool is_done = false;  // also false if no table had such pages
  int64_t stall_ns = 0;
  std::vector<PageBits> taken = {};  // touched pages that were made cold, in the order of addresses
};
// Tries some of `tables`, in the order of addresses.
base::Result<WideFlush> flushWide(
    PageTables& reader, const Process& process, const TableRuns& tables,
    const std::vector<MappingUse>& uses, MappingWalk::Wanted wanted, Clock& clock,
    const Judge& judge = [](const WideSpan&, const Stretch&) { return Chance::kMaybe; });

// Makes ranges cold, each a part of one mapping in one table, in order. One of them comes last and
// is wide enough to flush everything, if possible.
struct ColdAndFlush {
  MadeCold made;
  bool is_flushed = false;
};
base::Result<ColdAndFlush> makeColdAndFlush(PageTables& reader, const Process& process,
                                            std::vector<AddressRange> ranges,
                                            const std::vector<MappingUse>& uses,
                                            MappingWalk::Wanted wanted, Clock& clock);

}  // namespace tidegauge::wss
