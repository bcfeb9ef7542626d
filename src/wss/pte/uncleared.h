// What a sample says is touched, and may not have been: pages that could not be cleared when its
// window began.
//
//   parent ─┬─► page ◄── child      MADV_COLD passes over it, so its accessed bit stays from before
//           │
//           ├─► page, locked        it goes into none of that mapping
//           │
//           └─► page                cleared: a bit that is set says that it was touched
//
// After a fork all private memory is so until one of them writes to it, or ends: so it is asked
// when the window begins and not when it is over. What can be written to after the clearing is not
// asked about: no other memory maps that, so it was cleared, or is new. Not told, as the kernel
// does not tell it either: up to 31 pages that it keeps aside for each processor (not on its lists
// of memory in use), and memory of devices. Cost: 1.5 µs for each part that is asked about, of
// at most some 128.
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
  // ---- when it begins ------------------------------------------------------------------------
  void begin();
  // Entries `from` to `to` (at most 64) of the table at `table`, or all of a huge page, which are
  // to be cleared. In the order of tables, each once.
  void look(uint64_t table, page_table_kind kind, Entries entries, size_t from, size_t to);
  // The same tables once they were cleared; of pages, at least those entries.
  void lookAgain(uint64_t table, page_table_kind kind, Entries entries);
  // Of these, those in the ranges that could not be cleared, and those that other processes map,
  // too: some parts are asked for all. Nothing, if the kernel does not tell.
  void keep(const Process& process, std::span<const AddressRange> locked);

  // ---- when it is over -----------------------------------------------------------------------
  // The same entries, as they are now; a page stands for `bytes_of_page`. What all that was kept
  // and is touched stands for.
  double bytesOf(uint64_t table, page_table_kind kind, Entries entries, size_t from, size_t to,
                 double bytes_of_page) const;

 private:
  struct Piece {
    uint64_t page = 0;   // its number
    uint64_t pages = 0;  // a bit for each from there; of a huge page the lowest
    uint64_t asked = 0;  // of these, those that other memory may map
    bool is_huge = false;
    uint32_t stands_for = 1;  // so many parts
  };
  std::vector<Piece> sharedOnes(const Process& process) const;

  std::vector<Piece> pieces_;  // in the order of addresses
};

}  // namespace tidegauge::wss
