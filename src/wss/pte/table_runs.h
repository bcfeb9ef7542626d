// Page tables by the 2 MiB that each tells of: which are to be looked at, which were, which are
// new.
//
//   16 GiB whose third one is empty → {0x7f00_0000_0000, 1,024 tables},
//                                     {0x7f00_c000_0000, 6,656 tables}
//
// As runs, because most neighbours are alike: 8,192 addresses of 8 bytes would cost more to write
// down than the sample of them to read. Cost: of runs, not of tables; at() and has() take the
// logarithm of the runs.
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
  // Those that [begin, end) reaches into; it does not begin before what was added last.
  void add(uint64_t begin, uint64_t end);
  bool empty() const { return runs_.empty(); }
  size_t count() const { return runs_.empty() ? 0 : runs_.back().before + tablesIn(runs_.back()); }
  uint64_t at(size_t i) const;  // the address of the i-th, i < count()
  bool has(uint64_t table) const;
  TableRuns with(const TableRuns& others) const;
  TableRuns without(const TableRuns& others) const;
  std::vector<uint64_t> addresses() const;

 private:
  // [begin, end) in whole tables; they neither overlap nor touch each other.
  struct Run {
    uint64_t begin = 0, end = 0;
    size_t before = 0;  // tables of the runs before
  };
  static size_t tablesIn(const Run& run) { return (run.end - run.begin) / kTable; }
  std::vector<Run> runs_;
};

// Those that must be looked at for the mappings that are wanted, but for what lies in one of
// `empty`, which begin at whole GiB, in order.
TableRuns tablesOf(const std::vector<MappingUse>& uses, MappingWalk::Wanted wanted,
                   std::span<const uint64_t> empty = {});
// The GiB that they reach into, in order, each once.
std::vector<uint64_t> giantsOf(const std::vector<MappingUse>& uses, MappingWalk::Wanted wanted);

}  // namespace tidegauge::wss
