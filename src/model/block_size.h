// From requested bytes to block bytes, as PyTorch's caching allocator rounds.
//
//   513 B → 1,024 B    3 MiB → 3 MiB    5 MiB, roundup_power2_divisions:4 → 5 MiB (step 1 MiB)
//
// Source: CUDACachingAllocator round_size, roundup_power2_next_division; docs/formats/snapshot.md.
#pragma once

#include <array>
#include <cstdint>

#include "model/trace.h"

namespace tidegauge::model {

inline constexpr uint64_t kMinBlockBytes = 512;
inline constexpr uint64_t kSmallRequestBytes = uint64_t{1} << 20;  // at most this: small pool
// An ordinary large block keeps a remainder of up to this size instead of splitting it off.
inline constexpr uint64_t kUnsplitRemainderBytes = uint64_t{1} << 20;

// The allocator refuses larger requests; a hostile file may contain any number.
inline constexpr uint64_t kMaxRequestBytes = uint64_t{1} << 60;

// The smallest block that can serve the request; impossible requests are unchanged. O(1).
uint64_t roundedBytes(uint64_t requested_bytes, const AllocatorSettings& settings);
// The same by roundup_power2_divisions alone.
uint64_t roundedByDivisions(uint64_t requested_bytes, const std::array<uint32_t, 16>& of_class);

}  // namespace tidegauge::model
