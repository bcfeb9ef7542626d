// Page tables by the 2 MiB that each covers: which to examine, which were examined, which are new.
//
//   16 GiB whose third one is empty → {0x7f00_0000_0000, 1,024 tables},
//                                     {0x7f00_c000_0000, 6,656 tables}
//
// As runs, because most neighbours are alike: writing 8,192 addresses of 8 bytes would cost more
// than reading a sample of them. Cost: by runs, not by tables; at() and has() take the logarithm of
// the runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wss/pages/mappings.h"
#include "wss/pages/page_sums.h"

namespace tidegauge::wss {

class TableRuns {
 public:
  // Adds those that [begin, end) overlaps; it does not begin before the last addition.
  void add(uint64_t begin, uint64_t end);
  bool empty() const { return runs_.empty(); }
  size_t count() const { return runs_.empty() ? 0 : runs_.back().before + tablesIn(runs_.back()); }
  uint64_t at(size_t i) const;  // the address of the i-th, i < count()
  bool has(uint64_t table) const;
  TableRuns with(const TableRuns& others) const;
  TableRuns without(const TableRuns& others) const;
  std::vector<uint64_t> addresses() const;

 private:
  // [begin, end) in whole tables; runs neither overlap nor touch each other.
  struct Run {
    uint64_t begin = 0, end = 0;
    size_t before = 0;  // number of tables in earlier runs
  };
  static size_t tablesIn(const Run& run) { return (run.end - run.begin) / kTable; }
  std::vector<Run> runs_;
};

// Tables to examine for the wanted mappings, except those in one of `empty`, which begin at whole
// GiB, in order.
TableRuns tablesOf(const std::vector<MappingUse>& uses, MappingWalk::Wanted wanted,
                   std::span<const uint64_t> empty = {});
// The GiB that they overlap, in order, each once.
std::vector<uint64_t> giantsOf(const std::vector<MappingUse>& uses, MappingWalk::Wanted wanted);

}  // namespace tidegauge::wss
