// A process with many mappings. Each mapping costs as much as nine pages in every walk of the
// kernel: to clear (0.4 µs), to flush (0.35), to list (0.35, plus parsing).
//
//   clear_refs 1 ─ list ─ flush through some pages ────── it runs ────► page tables
//                   └───────── the same list, if nothing was mapped since ────┘
//
// So the processors' caches are flushed through a few pages of its heap that were touched since the
// clearing (wide_flush.h), not by a walk (clear_refs 4). The walk remains for a process that
// touches too little, even in the time of a walk. Those few pages count as touched. None of them is
// part of a larger page, which the flush would split. And its mappings are listed once, if the
// kernel reports that none changed: for a profile, too.
//
// Cost, measured with 60,000: 49 to 64 ms instead of 69 to 96 (docs/performance.md); with fewer
// than some thousand, nothing is saved.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "wss/backends/backend.h"
#include "wss/backends/flush.h"
#include "wss/pte/page_tables.h"

namespace tidegauge::wss {

class ManyMappings {
 public:
  static constexpr uint32_t kMany = 2000;
  // Clears the touched mark of every page, flushes, and stores the cost in `done`. Keeps no state
  // for a process that has fewer than `many`, or whose mappings are being changed, or if the kernel
  // does not report changes.
  static base::Result<std::optional<ManyMappings>> clear(PageTables& tables, const Process& process,
                                                         Flush flush, Clock& clock, Clearing& done,
                                                         uint32_t many = kMany);
  // The current mappings, without sums.
  base::Result<std::vector<MappingUse>> now(PageTables& tables, const Process& process);
  // The entries of a table, with the bits that the flush cleared; valid until the next call.
  Entries withTaken(uint64_t table, page_table_kind kind, Entries entries);
  // How often the mappings were listed, and whether a walk flushed. For tests.
  int lists() const { return lists_; }
  bool wasWalked() const { return was_walked_; }

 private:
  // Whether none has changed since they were listed, as far as the kernel reports.
  bool isListed(const std::optional<MappingsState>& state) const;
  base::Status listNow(const Process& process, const MappingsState& before);
  // Without a walk; false: not possible.
  base::Result<bool> flushWithout(PageTables& tables, const Process& process, Clock& clock,
                                  int64_t& stall_ns);

  std::vector<MappingUse> uses_;
  // MappingsState of `uses_`; includes this program's own changes
  std::optional<uint32_t> changes_;
  std::map<uint64_t, PageBits::Bits> taken_;  // by table
  std::array<__u64, PAGE_TABLE_ENTRIES> entries_{};
  int lists_ = 0;
  bool was_walked_ = false;
};

}  // namespace tidegauge::wss
