// Rows for people: wss.pl's columns first, in its order, then what it leaves open.
//
//   Est(s)     RSS(MB)    PSS(MB)    Ref(MB)  Ref%  Shr(MB) Huge% CPU(ms) Stall(ms)
//   0.100      1027.51    1025.22     100.04   9.7     0.02   0.0    21.4      13.2
//
// MB are MiB, as there. Est is the mean window of what was touched. Shr: of Ref, at most so much is
// in pages that other processes map too, who may have touched them. Stall: the longest that mmap,
// munmap and brk of the process can have had to wait.
#pragma once

#include <string>
#include <vector>

#include "wss/measure/grouping.h"

namespace tidegauge::wss {

struct TextOptions {
  bool more_times = false;    // Slp(s), Dur(s)
  bool knows_sharing = true;  // BackendTraits::knows_sharing
  bool is_sampled = false;    // a column says how wrong Ref may be
  size_t columns = 80;
  bool tells_writes = false;  // BackendTraits::tells_writes: Wrt in place of Ref, and a rate
  bool knows_huge = true;     // false: of an older file
};

std::string rowHeader(const TextOptions& options);
std::string rowText(const Row& row, const TextOptions& options);
// Sentences: what was looked for in vain, and is in no sum.
std::vector<std::string> gapsOf(const Row& row);
// What a sum does not say: that, swap, hugetlb, uneven windows. Empty: nothing to say.
std::string rowNotes(const Row& row, const TextOptions& options);
// Of a row of what was written: how fast, and how soon that would be all. Windows that write a page
// again write no new one, so it is a bound.
std::string writesText(const Row& row, const TextOptions& options);
// At most `most` groups, and the sum of the rest.
std::string groupsText(const std::vector<Group>& groups, Grouping grouping, size_t most,
                       const TextOptions& options);

}  // namespace tidegauge::wss
