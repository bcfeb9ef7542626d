// The arguments of a single launch, as a recording has them, in words.
//
//   parameters "0:4 4:4 8:8", 2 recorded, bytes 0a000000 0000803f      "0xa 0x3f800000"
//   not known, bytes of two words                                      "0xa 0x7f0012340000"
//   "0:8 8:24", whole: a pointer and a struct                          "0x7f00 x'0100…'"
//
// Parameters of 1, 2, 4 and 8 bytes are numbers; others are bytes in the order of memory. Of larger
// parameters a recording has the first 8 bytes, or all of them if that was asked for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tidegauge::model {

inline constexpr int64_t kUnknownParameters = -1;

// The sizes in "0:4 4:4 8:8"; as many as can be read.
std::vector<uint64_t> parameterSizes(std::string_view layout);

// `parameters`: how many there are in `bytes`, of those in `layout`; below 0: not known.
std::string argumentsText(std::span<const uint8_t> bytes, int64_t parameters,
                          std::string_view layout);

}  // namespace tidegauge::model
