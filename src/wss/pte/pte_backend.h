// pte: the back-end for root. It reads the accessed bits page by page from the page tables.
//
// It reads what smaps sums up, 18 times faster (16 GiB: 9 ms instead of 164), and only counts
// touches of this process: the accessed bit belongs to it, where smaps also counts what others did
// to a shared page. It has no PSS: the number of mappings of a page is stored elsewhere.
#pragma once

#include <map>

#include "wss/backends/backend.h"
#include "wss/backends/flush.h"
#include "wss/pte/glimpses.h"
#include "wss/pte/many_mappings.h"
#include "wss/pte/page_tables.h"

namespace tidegauge::wss {

class PteBackend final : public Backend {
 public:
  PteBackend(PageTables tables, Flush flush)
      : Backend(
            {.knows_frames = true, .knows_sharing = false, .reads_pages = true, .glances = true}),
        tables_(std::move(tables)),
        flush_(flush) {}
  std::string_view name() const override { return "pte"; }
  std::string how() const override;
  std::vector<std::string> limits() const override;
  std::optional<Cost> predicted(const Resident& resident, size_t mappings) const override;
  base::Result<Clearing> clear(const Process& process, Clock& clock) override;
  base::Status glance(const Process& process, Clock& clock) override;
  base::Result<Reading> read(const Process& process, Clock& clock) override;

 private:
  PageTables tables_;
  Flush flush_;
  std::map<pid_t, ManyMappings> many_;  // of those with many, since they were cleared
  std::map<pid_t, Glimpses> glimpses_;  // of those whose memory is being reclaimed
};

}  // namespace tidegauge::wss
