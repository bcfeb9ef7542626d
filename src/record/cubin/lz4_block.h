// unpackLz4: one block of LZ4, as nvcc packs cubins in fat binaries (without LZ4's frame).
//
//   token 0x52, 5 literals, offset 3 → copy 2 + 4 bytes from 3 bytes before … until the end
//
// Reads hostile bytes. Cost: about 1 GB/s. Source: lz4_Block_format.md of the LZ4 project.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tidegauge::record {

// The unpacked bytes, at most `size`; absent if the block is damaged.
std::optional<std::vector<uint8_t>> unpackLz4(std::span<const uint8_t> block, uint64_t size);

}  // namespace tidegauge::record
