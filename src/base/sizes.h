// Sizes that stand in one sentence, in words: compared ones share a unit.
//
//   inOneUnit({4008 MiB, 3842 MiB, 807 MiB}) = {"4,008 MiB", "3,842 MiB", "807 MiB"}
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"

namespace tidegauge::base {

// The finest of their units, so that none reads 0.00, but none in more than five digits. None for
// sizes too far apart for that: they keep their own units.
std::optional<ByteUnit> sharedUnit(std::initializer_list<uint64_t> sizes);
std::string inUnit(uint64_t size, std::optional<ByteUnit> unit);
std::vector<std::string> inOneUnit(std::initializer_list<uint64_t> sizes);

// In a table: "0" for nothing, not "0 B".
std::string sizeOrZero(uint64_t bytes);

// A size as people write it: "512MiB", "1.5g", "4096", capital or not. Units are binary, MB as MiB;
// a fraction needs one. Nothing for all else, and for more than kMaxSizeBytes: no memory is as
// large, and up to there no digit is lost.
inline constexpr uint64_t kMaxSizeBytes = uint64_t{1} << 50;  // 1 PiB
std::optional<uint64_t> parseSize(std::string_view text);

std::string pieces(uint64_t count);  // "one piece", "27 pieces"
std::string blocks(uint64_t count);  // "one block", "1,200 blocks"

}  // namespace tidegauge::base
