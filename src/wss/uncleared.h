// What a sample says is touched, and may not have been: pages that other processes map, too.
//
//   parent ─┬─► page ◄── child        MADV_COLD passes over it, so its accessed bit stays from before
//           │
//           └─► page                  cleared: a bit that is set says that it was touched
//
// After a fork all private memory is so until one of them writes to it. Cost: 1.5 µs for each part of the sample in
// which anything is touched. Sources: madvise_cold_or_pageout_pte_range (mm/madvise.c); bit 56 of pagemap,
// Documentation/admin-guide/mm/pagemap.rst.
#pragma once

#include <cstdint>
#include <vector>

#include "wss/page_sums.h"
#include "wss/process.h"

namespace tidegauge::wss {

class Uncleared {
 public:
  // Entries `from` to `to` (at most 64) of the table at `table`, or all of a huge page. A page that is touched stands for
  // `bytes_of_page`.
  void look(uint64_t table, page_table_kind kind, Entries entries, size_t from, size_t to,
            double bytes_of_page);
  // That all of these stand for; 0 if the kernel does not tell.
  double bytes(const Process& process) const;

 private:
  struct Piece {
    uint64_t page = 0;     // its number
    uint64_t touched = 0;  // a bit for each from there
    double bytes_of_page = 0;
  };
  std::vector<Piece> pieces_;
};

}  // namespace tidegauge::wss
