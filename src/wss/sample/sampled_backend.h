// pte, sampled: for processes so large that clearing every page would stop them for too long.
//
//   private memory   parts of some tables (sample.h): process_madvise(MADV_COLD) clears and
//                    flushes these
//   the rest         exactly: clear_refs 3, which covers files and shared memory only, and a
//                    flush of the whole TLB, by making one of those parts larger (wide_flush.h)
//
// The parts are chosen once: each window of a run examines the same ones, so that rows can be
// compared, and parts that were cleared need not be cleared again.
//
// For its cost compared with all pages, see docs/performance.md. MADV_COLD also lets the kernel
// reclaim these pages first: without swap, that does not affect private memory. It skips locked
// memory and pages that a forked process maps too, which then look touched (uncleared.h), so it is
// never chosen unasked. Nor if the kernel makes huge pages that are larger than a part, which it
// would split.
#pragma once

#include <random>

#include "wss/backends/backend.h"
#include "wss/backends/flush.h"
#include "wss/pte/page_tables.h"
#include "wss/pte/uncleared.h"
#include "wss/sample/sample.h"

namespace tidegauge::wss {

class SampledBackend final : public Backend {
 public:
  SampledBackend(PageTables tables, SampleRate rate, Flush flush, uint64_t seed);
  std::string_view name() const override { return "pte"; }
  std::string how() const override;
  std::vector<std::string> limits() const override;
  std::optional<Cost> predicted(const Resident& resident, size_t mappings) const override;
  base::Result<Clearing> clear(const Process& process, Clock& clock) override;
  base::Result<Reading> read(const Process& process, Clock& clock) override;

 private:
  base::Result<Clearing> flush(const Process& process, const TableRuns& touched,
                               const std::vector<MappingUse>& uses, Clock& clock);
  base::Result<bool> clearSample(const Process& process, const Sample& sample,
                                 const std::vector<MappingUse>& uses, Clock& clock, Cost& cost,
                                 std::vector<AddressRange>& locked);
  double mostSampledBytes(const Resident& resident, const std::vector<MappingUse>& uses) const;
  TableRuns addToSample(const TableRuns& now);
  base::Status sampleNew(const Process& process, const std::vector<MappingUse>& uses);

  PageTables tables_;
  SampleRate rate_;
  Flush flush_;
  std::mt19937_64 random_;
  // Possible error of the kernel's sum of a process's memory: what each processor has not added yet
  // (percpu_counter_batch in lib/percpu_counter.c).
  uint64_t not_in_bytes_ = 0;
  Sample sample_;    // of the memory at the last clearing, or mapped since
  TableRuns known_;  // the tables that it was chosen from
  TableRuns new_;    // of these, mapped since the last clearing
  // At the last clearing, in the order of its parts: the resident pages.
  std::vector<uint32_t> pages_there_;
  double gone_bytes_ = 0;  // of these, no longer mapped, and everything that such parts stand for
  Uncleared uncleared_;
  // At the last clearing, in order: the sampled mappings, and the GiB without memory.
  std::vector<AddressRange> mapped_;
  std::vector<uint64_t> empty_;
};

}  // namespace tidegauge::wss
