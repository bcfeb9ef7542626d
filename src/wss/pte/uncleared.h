// Pages that a sample counts as touched, and that may not have been: they could not be cleared when
// its window began.
//
//   parent ─┬─► page ◄── child      MADV_COLD skips it, so its accessed bit stays from before
//           │
//           ├─► page, locked        it skips that whole mapping
//           │
//           └─► page                cleared: a set bit shows that it was touched
//
// After a fork, all private memory is shared until one process writes to it, or ends. So the check
// is made when the window begins, not at its end. Pages that can be written after the clearing are
// not checked: no other memory maps them, so they were cleared, or are new. Not detected, since the
// kernel does not report them either: up to 31 pages that it keeps aside for each processor (not on
// its lists of memory in use), and memory of devices. Cost: 1.5 µs for each checked part, at most
// some 128 parts.
// Sources: madvise_cold_or_pageout_pte_range (mm/madvise.c); bit 56 of pagemap,
// Documentation/admin-guide/mm/pagemap.rst.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wss/pages/page_sums.h"
#include "wss/process/process.h"

namespace tidegauge::wss {

class Uncleared {
 public:
  // ---- when the window begins ------------------------------------------------------------------
  void begin();
  // Entries `from` to `to` (at most 64) of the table at `table`, or a whole huge page, which will
  // be cleared. In the order of tables, each once.
  void look(uint64_t table, page_table_kind kind, Entries entries, size_t from, size_t to);
  // The same tables after they were cleared; of pages, at least those entries.
  void lookAgain(uint64_t table, page_table_kind kind, Entries entries);
  // Keeps those in the ranges that could not be cleared, and those that other processes map, too:
  // some parts are checked, and stand for all. Keeps none if the kernel does not report it.
  void keep(const Process& process, std::span<const AddressRange> locked);

  // ---- when it ends ----------------------------------------------------------------------------
  // The current state of the same entries; a page stands for `bytes_of_page`. Returns the bytes
  // that the kept and touched pages stand for.
  double bytesOf(uint64_t table, page_table_kind kind, Entries entries, size_t from, size_t to,
                 double bytes_of_page) const;

 private:
  struct Piece {
    uint64_t page = 0;   // its number
    uint64_t pages = 0;  // a bit for each from there; for a huge page the lowest
    uint64_t asked = 0;  // of these, those that other memory may map
    bool is_huge = false;
    uint32_t stands_for = 1;  // number of parts
  };
  std::vector<Piece> sharedOnes(const Process& process) const;

  std::vector<Piece> pieces_;  // in the order of addresses
};

}  // namespace tidegauge::wss
