// Touched pages that are noted while the kernel reclaims memory, in the middle of a window. Without
// them, pages that are reclaimed before the window ends would be missing.
//
//   clear ──── look ──── look ──── read
//               │         │         │   touched in a look, there at the end:   touched
//               └─────────┴─────────┘   touched in a look, reclaimed since:    gone
//
// Anonymous memory that is reclaimed leaves an entry that names its place in swap; without one the
// process itself freed it. A file's page leaves nothing either way: it counts as reclaimed as long
// as it is mapped. A page that is touched and reclaimed between two looks is still missing. Cost of
// a look: that of a reading; nothing stops the process.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "wss/pages/page_sums.h"
#include "wss/process/process.h"
#include "wss/pte/page_tables.h"

namespace tidegauge::wss {

class Glimpses {
 public:
  base::Status look(PageTables& tables, const Process& process);
  // Notes what these pages say, in the order of addresses.
  void note(const std::vector<PageBits>& pages);

  // Before a reading at the end of a window: forgets what was there at the end of the last one.
  void beginReading();
  // For that reading: the entries of a table, with the accessed bits of pages that were
  // seen touched. Valid until the next call.
  Entries amended(uint64_t table, page_table_kind kind, Entries entries);
  // After it: bytes that were seen touched and are reclaimed now, in these mappings.
  uint64_t goneBytes(const std::vector<MappingUse>& uses) const;

  int64_t cpu_ns = 0;  // of all looks

 private:
  struct Seen {
    // `kept`: without memory, and the entry still names the page
    PageBits::Bits touched{}, there_at_end{}, kept_at_end{};
  };
  std::map<uint64_t, Seen> seen_;  // by table
  std::array<__u64, PAGE_TABLE_ENTRIES> entries_{};
};

}  // namespace tidegauge::wss
