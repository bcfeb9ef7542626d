// What the entries of page tables say, added up.
//
//   0x8000000012345867 → there, touched, written: 4 KiB of rss, referenced and dirty
//
// Cost: under 1 ns per entry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "bpf/page_entry.h"
#include "bpf/page_tables.h"
#include "wss/pages/frames.h"
#include "wss/pages/mappings.h"
#include "wss/pages/page_bits.h"

namespace tidegauge::wss {

inline constexpr uint64_t kTable = kPage * PAGE_TABLE_ENTRIES;   // covered by one table
inline constexpr uint64_t kGiant = kTable * PAGE_TABLE_ENTRIES;  // by a table of tables

// Bits of an entry (SPECIAL: a bit that the processor ignores says "no page of RSS", as the shared
// page of zeros is; HIDDEN: a page that NUMA balancing hides keeps its place).
inline constexpr uint64_t kEntryPresent = PAGE_ENTRY_PRESENT, kEntryWritable = PAGE_ENTRY_WRITABLE,
                          kEntryHidden = PAGE_ENTRY_HIDDEN, kEntryAccessed = PAGE_ENTRY_ACCESSED,
                          kEntryDirty = PAGE_ENTRY_DIRTY, kEntrySpecial = PAGE_ENTRY_SPECIAL,
                          kEntryPlace = PAGE_ENTRY_PLACE;

// A page of memory: also one that is hidden (NUMA balancing; PROT_NONE).
inline bool isThere(uint64_t entry) {
  return (entry & (kEntryPresent | kEntryHidden)) != 0 && (entry & kEntrySpecial) == 0;
}
// … that was touched since its bit was taken.
inline bool isTouched(uint64_t entry) { return isThere(entry) && (entry & kEntryAccessed) != 0; }
// Private memory that no other process maps: else the kernel would have to see the write, and copy
// the page. Never on arm64.
inline bool isOwn(uint64_t entry) {
  return (entry & (kEntryPresent | kEntryWritable)) == (kEntryPresent | kEntryWritable);
}

inline bool hasEntries(page_table_kind kind) {
  return kind == PAGE_TABLE_OF_PAGES || kind == PAGE_TABLE_HUGE || kind == PAGE_TABLE_GIANT;
}

using Entries = std::span<const __u64, PAGE_TABLE_ENTRIES>;

// What the entries of one table say of the part of a mapping that lies in it. `first` and `last`:
// the entries of the mapping. Public for tests.
void addEntries(MappingSums& sums, Entries entries, size_t first, size_t last);
// The same of one large page, of which `bytes` are the mapping's.
void addLarge(MappingSums& sums, uint64_t entry, uint64_t bytes, MappingKind kind);

// The same page by page. A large page is all of its pages, there and touched as a whole.
PageBits bitsOf(uint64_t table, page_table_kind kind, Entries entries);

// Adds where its pages [first, last) lie.
void addFrames(std::vector<Frame>& frames, page_table_kind kind, Entries entries, size_t first,
               size_t last);

// Goes through tables in the order of addresses, and with them through the mappings that lie in
// them.
class MappingWalk {
 public:
  using Wanted = bool (*)(const Mapping&);
  MappingWalk(std::vector<MappingUse>& uses, Wanted wanted) : uses_(uses), wanted_(wanted) {}
  // Calls `add(use, sums, from, to)` for each wanted mapping with what the entries [first, last)
  // say of it; its own are [from, to).
  template <class Add>
  void visit(uint64_t table, page_table_kind kind, Entries entries, size_t first, size_t last,
             const Add& add) {
    uint64_t begin = table + first * kPage, end = table + last * kPage;
    while (from_ < uses_.size() && uses_[from_].mapping.end <= begin) ++from_;
    if (!hasEntries(kind)) return;
    for (size_t i = from_; i < uses_.size() && uses_[i].mapping.start < end; ++i) {
      MappingUse& use = uses_[i];
      if (!wanted_(use.mapping)) continue;
      uint64_t from = std::max(use.mapping.start, begin), to = std::min(use.mapping.end, end);
      MappingSums sums;
      if (kind == PAGE_TABLE_OF_PAGES)
        addEntries(sums, entries, (from - table) / kPage, (to - table) / kPage);
      else
        addLarge(sums, entries[0], to - from, use.mapping.kind);
      // arm64 has reserved huge pages of 64 KiB, which are entries in a table of pages.
      if (use.mapping.kind == MappingKind::kHugetlb && kind == PAGE_TABLE_OF_PAGES)
        sums = {.hugetlb = sums.rss};
      add(use, sums, (from - table) / kPage, (to - table) / kPage);
    }
  }

 private:
  std::vector<MappingUse>& uses_;
  Wanted wanted_;
  size_t from_ = 0;  // the first that does not end before the table
};

}  // namespace tidegauge::wss
