// damon: the kernel's own sampling (DAMON), at a cost that does not grow with the process.
//
//   region   ├──────── touched ────────┤├─ not ─┤├ touched ┤   of one page in each, every 1/20
//   mappings ├── a ──┤     ├── b ──┤├──────── c ────────┤      → a, b whole, c in part, at most
//                                                              what is resident
//
// Regions are split and merged continuously, so it must watch for a while before the first window.
// Its windows are consecutive and its own: it leaves no marks. Known error: scattered pages make
// whole regions look touched. Measured in an emulated machine (of 256 MiB): 20 MiB contiguous seen
// as 18 to 20, 20 MiB scattered as 86 to 223.
#pragma once

#include <memory>

#include "wss/backends/backend.h"
#include "wss/backends/kdamond.h"

namespace tidegauge::wss {

class DamonBackend final : public Backend {
 public:
  // Uses windows of `window_ns`. `root`: prefix of /sys; for tests.
  explicit DamonBackend(int64_t window_ns, std::string root = {})
      : window_ns_(window_ns), root_(std::move(root)) {}
  std::string_view name() const override { return "damon"; }
  std::string how() const override;
  std::vector<std::string> limits() const override;
  // The first call starts it, and lets it find regions for 3 s.
  base::Result<Clearing> clear(const Process& process, Clock& clock) override;
  base::Result<Reading> read(const Process& process, Clock& clock) override;

 private:
  int64_t window_ns_;
  std::string root_;
  std::unique_ptr<Kdamond> kdamond_;
  int64_t reported_cpu_ns_ = 0;  // of the kdamond, already reported in rows
};

// Replaces the touched bytes of each mapping by the part of `regions` (sorted) inside it; at most
// what is resident. Public for tests.
void countRegions(std::vector<MappingUse>& uses, const std::vector<DamonRegion>& regions);

}  // namespace tidegauge::wss
