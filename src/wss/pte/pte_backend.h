// pte: the back-end for root. The accessed bits themselves, page by page, out of the page tables.
//
// What smaps adds up, it reads 18 times faster (16 GiB: 9 ms instead of 164), and only what this
// process touched counts: the accessed bit is its own, where smaps also counts what others did to a
// shared page. It knows no PSS: how many map a page stands elsewhere.
#pragma once

#include <map>

#include "wss/backends/backend.h"
#include "wss/backends/flush.h"
#include "wss/pte/many_mappings.h"
#include "wss/pte/page_tables.h"

namespace tidegauge::wss {

class PteBackend final : public Backend {
 public:
  PteBackend(PageTables tables, Flush flush)
      : Backend({.knows_sharing = false, .reads_pages = true}),
        tables_(std::move(tables)),
        flush_(flush) {}
  std::string_view name() const override { return "pte"; }
  std::string how() const override;
  std::vector<std::string> limits() const override;
  std::optional<Cost> predicted(const Resident& resident, size_t mappings) const override;
  base::Result<Clearing> clear(const Process& process, Clock& clock) override;
  base::Result<Reading> read(const Process& process, Clock& clock) override;

 private:
  PageTables tables_;
  Flush flush_;
  std::map<pid_t, ManyMappings> many_;  // of those that have many, since they were cleared
};

}  // namespace tidegauge::wss
