// The address axis of the map: only addresses that the process ever owned, in order, without the
// gaps between, so that one distant address does not compress the rest.
//
//   addresses   …[ 0x7f00 ─ 0x7f20 )………………[ 0x7f90 ─ 0x7fa0 )…
//   axis         [ 0      ─ 0x20   )[ 0x20  ─ 0x30   )          a break at 0x20
//
// Built from the pieces of all segments, and from blocks outside of them. Cost: one sort of the
// pieces; O(log ranges) per address.
#pragma once

#include <cstdint>
#include <vector>

#include "model/trace.h"

namespace tidegauge::view {

struct OwnedRange {
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  uint64_t axis_bytes = 0;  // its begin on the axis

  bool operator==(const OwnedRange&) const = default;
};

class OwnedAxis {
 public:
  // `plain`: nothing is omitted between the first and the last address.
  // Blocks before `first_row` are known to be inside of segments.
  OwnedAxis(const model::Trace& trace, const model::Device& device, bool plain = false,
            uint64_t first_row = 0);

  // Has the device blocks outside of all segments?
  bool hasOutside() const { return has_outside_; }
  bool operator==(const OwnedAxis&) const = default;

  // By address; neighbours never touch.
  const std::vector<OwnedRange>& ranges() const { return ranges_; }
  uint64_t totalBytes() const { return total_bytes_; }
  // For an address inside a range; for another one, the beginning of the next range.
  uint64_t axisOf(uint64_t address) const;
  // The address drawn there: axis < totalBytes().
  uint64_t addressAt(uint64_t axis_bytes) const;

 private:
  std::vector<OwnedRange> ranges_;
  uint64_t total_bytes_ = 0;
  bool has_outside_ = false;
};

}  // namespace tidegauge::view
