// Marks: parts of a process's memory whose use is known from elsewhere, as pinned host memory that
// CUDA allocated. Mappings are cut there, so every list, sum and picture shows them separately.
//
//   anonymous  ├───────────────────────────┤
//   marks            ├──pinned──┤
//   cut        ├────┤├──pinned──┤├─────────┤
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wss/pages/mappings.h"

namespace tidegauge::wss {

struct Mark {
  uint64_t start = 0, end = 0;
  MappingKind kind = MappingKind::kPinned;
  std::string path;  // as Mapping::path
};

// Made whole pages (what a page has is pinned with it), in the order of addresses, none over
// another.
std::vector<Mark> orderedMarks(std::vector<Mark> marks);

// `uses` in the order of addresses and without sums, as readMaps() gives them; `marks` as
// orderedMarks() does. Bytes of marks where nothing is mapped are added to `unmapped_bytes`.
void cutAt(std::vector<MappingUse>& uses, std::span<const Mark> marks, uint64_t& unmapped_bytes);

}  // namespace tidegauge::wss
