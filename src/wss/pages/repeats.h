// Memory that one process maps several times, as collectors with coloured pointers do: sums over
// mappings count it each time.
//
//   heap → 0x10000…  64 MiB ─┐
//   heap → 0x50000…  64 MiB ─┴─ one file, the same place: 64 MiB of repeats
//
// Cost: sorts the mappings of files that are large enough to matter.
#pragma once

#include <cstdint>
#include <span>

#include "wss/pages/mappings.h"

namespace tidegauge::wss {

constexpr uint64_t kFewRepeats = uint64_t{1} << 20;  // not worth a word: segments of one library

// Bytes of addresses that lie where another mapping of this process maps the same file. An upper
// bound of what sums over mappings count twice: less may be resident, or copied on write.
uint64_t repeatedBytes(std::span<const MappingUse> uses);

}  // namespace tidegauge::wss
