// Sizes within one sentence, as words: sizes that are compared share a unit.
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

// The finest of their units with which no size has more than five digits, so that none reads 0.00.
// Absent if the sizes differ too much: then each keeps its own unit.
std::optional<ByteUnit> sharedUnit(std::initializer_list<uint64_t> sizes);
std::string inUnit(uint64_t size, std::optional<ByteUnit> unit);
std::vector<std::string> inOneUnit(std::initializer_list<uint64_t> sizes);

// For tables: "0" for nothing, not "0 B".
std::string sizeOrZero(uint64_t bytes);

// Parses a size as people write it: "512MiB", "1.5g", "4096", in any letter case. Units are binary,
// MB means MiB; a fraction needs a unit. Absent for other texts and above kMaxSizeBytes: no memory
// is that large, and up to there no digit is lost.
inline constexpr uint64_t kMaxSizeBytes = uint64_t{1} << 50;  // 1 PiB
std::optional<uint64_t> parseSize(std::string_view text);

std::string blocks(uint64_t count);  // "one block", "1,200 blocks"

}  // namespace tidegauge::base
