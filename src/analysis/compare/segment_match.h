// Which memory of the driver is a snapshot's segments: a snapshot and a recording of one process
// meet where address, size and time agree.
//
//   snapshot  segment_alloc 0x7f00… 20 MiB at 10.000021 s    the recording ends a call when the
//   recording cuMemAlloc    0x7f00… 20 MiB ended 10.000017 s driver returns, PyTorch notes it later
//
// An ordinary segment is one block of the driver, of the same address and size. Of an expandable
// one each piece is covered by mappings of physical memory. Among several lives at one address the
// one that began nearest is taken, each once. A snapshot without times is joined by content: at the
// last moment at which the driver held most of its final segments.
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
  // Pieces of the snapshot's segments that the recording could know, and those that it does.
  uint64_t pieces = 0;
  uint64_t matched = 0;
  uint64_t older = 0;  // others: there before the recording's first call
  uint64_t elsewhen =
      0;  // of those that do not match: the place and size are known, at other times
  bool by_content = false;
  int64_t end_ns = 0;  // by content: the moment at which they meet
  // By which a segment's time in the snapshot is later than in the recording; none: no event has
  // one.
  std::optional<int64_t> median_difference_ns;
  std::optional<int64_t> largest_difference_ns;  // by its size without sign
  int64_t typical_difference_ns = 0;             // median of the sizes without sign
  std::vector<bool> blocks;                      // rows of the driver's blocks that are segments
  std::vector<bool> mappings;                    // rows of its mappings that are

  // At least half of what it could know, and something.
  bool fits() const { return matched > 0 && matched * 2 >= pieces; }
};

inline constexpr int64_t kMaxApartNs = 1'000'000'000;
inline constexpr uint64_t kMaxLooks = 200'000'000;

SegmentMatch matchSegments(const AnalysedTrace& snapshot, const model::DriverMemory& driver);

}  // namespace tidegauge::analysis
