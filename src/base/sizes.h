// Sizes that stand in one sentence, in words: compared ones share a unit.
//
//   inOneUnit({4008 MiB, 3842 MiB, 807 MiB}) = {"4,008 MiB", "3,842 MiB", "807 MiB"}
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/format.h"

namespace tidegauge::base {

// The finest of their units, so that none reads 0.00, but none in more than five digits. None for
// sizes too far apart for that: they keep their own units.
std::optional<ByteUnit> sharedUnit(std::initializer_list<uint64_t> sizes);
std::string inUnit(uint64_t size, std::optional<ByteUnit> unit);
std::vector<std::string> inOneUnit(std::initializer_list<uint64_t> sizes);

std::string pieces(uint64_t count);  // "one piece", "27 pieces"
std::string blocks(uint64_t count);  // "one block", "1,200 blocks"

}  // namespace tidegauge::base
