// A process that has many mappings, each of which costs as much as nine pages whenever the kernel
// walks through them: to clear (0.4 µs), to flush (0.35), to list (0.35, and our reading of it).
//
//   clear_refs 1 ─ list ─ flush by way of some pages ──── it runs ────► page tables
//                   └───────── the same list, if nothing was mapped since ────┘
//
// So all that processors have cached of it is flushed with a few pages of its heap that were
// touched since the clearing (wide_flush.h), not with a walk (clear_refs 4), which is left for a
// process that touches too little, even in such a time more. Those pages count as touched. None of
// them is a part of a larger page, which that would split. And the list of its mappings is taken
// once, if the kernel says that none changed: of a profile, too.
//
// Cost, measured with 60,000: 49 to 64 ms in place of 69 to 96 (docs/performance.md); with fewer
// than some thousand nothing is saved.
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
  // Takes from every page that it was touched, flushes, and tells in `done` what that took. Nothing
  // is kept of a process that has fewer than `many`, or whose mappings are just changing, or where
  // the kernel does not say when they do.
  static base::Result<std::optional<ManyMappings>> clear(PageTables& tables, const Process& process,
                                                         Flush flush, Clock& clock, Clearing& done,
                                                         uint32_t many = kMany);
  // The mappings as they are now, without sums.
  base::Result<std::vector<MappingUse>> now(PageTables& tables, const Process& process);
  // The entries of a table, with what the flush took from them; until the next call.
  Entries withTaken(uint64_t table, page_table_kind kind, Entries entries);
  // How often the mappings were listed, and whether a walk flushed. For tests.
  int lists() const { return lists_; }
  bool wasWalked() const { return was_walked_; }

 private:
  // Whether none has changed since they were listed, as far as the kernel knows.
  bool isListed(const std::optional<MappingsState>& state) const;
  base::Status listNow(const Process& process, const MappingsState& before);
  // Without a walk; false: that could not be.
  base::Result<bool> flushWithout(PageTables& tables, const Process& process, Clock& clock,
                                  int64_t& stall_ns);

  std::vector<MappingUse> uses_;
  std::optional<uint32_t> changes_;  // MappingsState, of `uses_`; what we change ourselves is added
  std::map<uint64_t, PageBits::Bits> taken_;  // by table
  std::array<__u64, PAGE_TABLE_ENTRIES> entries_{};
  int lists_ = 0;
  bool was_walked_ = false;
};

}  // namespace tidegauge::wss
