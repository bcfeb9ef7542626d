// Which memory of the driver holds a snapshot's segments: a snapshot and a recording of one process
// are joined where address, size and time agree.
//
//   snapshot  segment_alloc 0x7f00… 20 MiB at 10.000021 s    the recording ends a call when the
//   recording cuMemAlloc    0x7f00… 20 MiB ended 10.000017 s driver returns, PyTorch notes it later
//
// An ordinary segment is one block of the driver, with the same address and size. In an expandable
// segment, mappings of physical memory cover each piece. Of several lives at one address, the one
// whose beginning is nearest is taken, each once. A snapshot without times is joined by content: at
// the last moment at which the driver held most of its final segments. Pinned host memory of the
// snapshot is joined, too, but decides nothing.
//
// Cost: O((pieces + rows) × log rows), bounded by kMaxLooks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/trace/analysed_trace.h"
#include "model/driver_memory.h"

namespace tidegauge::analysis {

struct SegmentMatch {
  // Pieces of the snapshot's segments that the recording could contain, and those that it does.
  uint64_t pieces = 0;
  uint64_t matched = 0;
  uint64_t older = 0;     // other pieces: allocated before the recording's first call
  uint64_t elsewhen = 0;  // unmatched pieces whose address and size occur at other times
  bool by_content = false;
  // Joined by content: from when to when they agree.
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t until_ns = model::kLiveAtEnd;  // until then the driver held all final segments found
  // How much later a segment's time is in the snapshot than in the recording; absent if no event
  // has a time.
  std::optional<int64_t> median_difference_ns;
  std::optional<int64_t> largest_difference_ns;  // by absolute value
  int64_t typical_difference_ns = 0;             // median of the absolute values
  std::vector<bool> blocks;                      // rows of the driver's blocks that are segments
  std::vector<bool> mappings;                    // rows of its mappings that are segments

  // At least half of the pieces that it could contain, and at least one.
  bool fits() const { return matched > 0 && matched * 2 >= pieces; }
};

inline constexpr int64_t kMaxApartNs = 1'000'000'000;
inline constexpr uint64_t kMaxLooks = 200'000'000;

SegmentMatch matchSegments(const AnalysedTrace& snapshot, const model::DriverMemory& driver);

}  // namespace tidegauge::analysis
