// Rows for people: wss.pl's columns first, in its order, then additional ones.
//
//   Est(s)     RSS(MB)    PSS(MB)    Ref(MB)  Ref%  Shr(MB) Huge% CPU(ms) Stall(ms)
//   0.100      1027.51    1025.22     100.04   9.7     0.02   0.0    21.4      13.2
//
// MB are MiB, as there. Est is the mean window of the touched memory. Shr: upper bound of the part
// of Ref in pages that other processes map too, and may have touched. Stall: upper bound of the
// wait of the process's mmap, munmap and brk.
#pragma once

#include <string>
#include <vector>

#include "wss/measure/grouping.h"

namespace tidegauge::wss {

struct TextOptions {
  bool more_times = false;    // Slp(s), Dur(s)
  bool knows_sharing = true;  // BackendTraits::knows_sharing
  bool is_sampled = false;    // a column shows the error of Ref
  size_t columns = 80;
  bool tells_writes = false;  // BackendTraits::tells_writes: Wrt instead of Ref, and a rate
  bool knows_huge = true;     // false: from an older file
};

// That memory is mapped more than once, and what it is counted once; empty: next to none is.
std::string repeatsSentence(const Row& row, bool knows_sharing);

std::string rowHeader(const TextOptions& options);
std::string rowText(const Row& row, const TextOptions& options);
// Sentences about missing data, which is in no sum.
std::vector<std::string> gapsOf(const Row& row);
// Notes on a sum: missing data, swap, hugetlb, uneven windows. Empty: none.
std::string rowNotes(const Row& row, const TextOptions& options);
// For a row of written memory: the rate, and the time until all of it would be written. Windows may
// write the same pages again, so it is a bound.
std::string writesText(const Row& row, const TextOptions& options);
// What the process's cgroup has charged; empty: unknown.
std::string cgroupText(const Row& row, size_t columns);
// At most `most` groups, and the sum of the rest.
std::string groupsText(const std::vector<Group>& groups, Grouping grouping, size_t most,
                       const TextOptions& options);

}  // namespace tidegauge::wss
