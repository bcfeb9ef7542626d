// A row's mappings, summed: each alone, by file, or by kind; most touched first.
//
//   by file    /usr/lib/libc.so.6   4 mappings   rss 1.9 MiB   touched 0.4 MiB
//   by kind    heap                 1            812 MiB       28 MiB
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "wss/measure/measure.h"

namespace tidegauge::wss {

enum class Grouping : uint8_t { kMapping, kFile, kKind };

struct Group {
  std::string name;  // from the kernel: any bytes
  MappingKind kind = MappingKind::kAnonymous;
  uint64_t start = 0, end = 0;  // of one mapping; for several the lowest, and 0
  uint64_t mappings = 0;
  pid_t pid = 0;  // of one mapping, if there are several processes; else 0
  MappingSums sums;
  Window window;  // from the least to the most of all; the mean weighted by touched bytes
};

// "/usr/lib/libc.so.6", "[shared anonymous]", "heap".
std::string nameOf(const Mapping& mapping);

std::vector<Group> groupsOf(const Row& row, Grouping grouping);
// The mappings of several processes, each as in its process: pages that several map are in each of
// theirs.
std::vector<Group> mappingsOfAll(const std::vector<std::pair<pid_t, const Row*>>& rows);
// The same for several processes, by file or kind: equal names in all of them are one group,
// without a window. With frames (Row::frames), rss and referenced count a page once, however many
// map it.
std::vector<Group> groupsOfAll(const std::vector<const Row*>& rows, Grouping grouping,
                               bool has_frames);

}  // namespace tidegauge::wss
