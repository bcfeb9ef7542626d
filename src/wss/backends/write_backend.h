// write: which pages were written, where the other back-ends include reads. This is what a
// checkpoint, a live migration or a copy after fork must transfer again.
//
//   clear_refs 4 ──► every page is write-protected ──► the first write to one marks it (soft-dirty)
//   pagemap, bit 55 ──► marked pages: Reading's `referenced` is what was written
//
// Cost: in addition to that of smaps, some 1 µs of the process for each first write to a page.
// Needs a kernel with CONFIG_MEM_SOFT_DIRTY. Newer kernels also have userfaultfd's write
// protection, but a program can only use it for its own memory. Source:
// Documentation/admin-guide/mm/soft-dirty.rst.
#pragma once

#include "wss/backends/backend.h"

namespace tidegauge::wss {

class WriteBackend final : public Backend {
 public:
  static base::Status check();  // tested on a page of this process
  WriteBackend() : Backend({.tells_writes = true}) {}
  std::string_view name() const override { return "write"; }
  std::string how() const override { return "clear_refs 4, soft-dirty bits of pagemap, smaps"; }
  std::vector<std::string> limits() const override;
  base::Result<Clearing> clear(const Process& process, Clock& clock) override;
  base::Result<Reading> read(const Process& process, Clock& clock) override;
};

}  // namespace tidegauge::wss
