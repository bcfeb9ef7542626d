// write: which pages were written to, where the others tell of reading too. What a checkpoint, a
// live migration or a copy after fork has to carry again.
//
//   clear_refs 4 ──► every page is write-protected ──► the first write to one marks it (soft-dirty)
//   pagemap, bit 55 ──► marked pages: Reading's `referenced` is what was written
//
// Cost: besides that of smaps some 1 µs of the process for each page that it writes first. Needs a
// kernel with CONFIG_MEM_SOFT_DIRTY. Of userfaultfd's write protection, which newer kernels have
// too, every program can make use for its own memory alone. Source:
// Documentation/admin-guide/mm/soft-dirty.rst.
#pragma once

#include "wss/backends/backend.h"

namespace tidegauge::wss {

class WriteBackend final : public Backend {
 public:
  static base::Status check();  // tried on a page of our own
  WriteBackend() : Backend({.tells_writes = true}) {}
  std::string_view name() const override { return "write"; }
  std::string how() const override { return "clear_refs 4, soft-dirty bits of pagemap, smaps"; }
  std::vector<std::string> limits() const override;
  base::Result<Clearing> clear(const Process& process, Clock& clock) override;
  base::Result<Reading> read(const Process& process, Clock& clock) override;
};

}  // namespace tidegauge::wss
