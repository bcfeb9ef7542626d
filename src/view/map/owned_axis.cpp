#include "view/map/owned_axis.h"

#include <algorithm>

namespace tidegauge::view {
namespace {

struct Range {
  uint64_t begin;
  uint64_t end;
};

uint64_t endOf(uint64_t begin, uint64_t size_bytes) {
  return begin + std::min(size_bytes, UINT64_MAX - begin);
}

}  // namespace

OwnedAxis::OwnedAxis(const model::Trace& trace, const model::Device& device, bool plain,
                     uint64_t first_row) {
  std::vector<Range> owned;
  auto add = [&](uint64_t begin, uint64_t size_bytes) {
    uint64_t end = endOf(begin, size_bytes);
    if (begin < end) owned.push_back({begin, end});
  };
  for (uint64_t row = device.piece_begin; row < device.piece_end; ++row) {
    add(trace.pieces.address[row], trace.pieces.size_bytes[row]);
  }
  const model::Allocations& a = trace.allocations;
  uint64_t begin = 0;  // of blocks not yet added, which often come in rows
  uint64_t end = 0;
  for (uint64_t row = std::max(first_row, device.allocation_begin); row < device.allocation_end;
       ++row) {
    if (a.segment[row].valid()) continue;
    has_outside_ = true;
    if (a.address[row] != end || begin == end) {
      add(begin, end - begin);
      begin = a.address[row];
    }
    end = endOf(a.address[row], a.block_bytes[row]);
  }
  add(begin, end - begin);
  std::sort(owned.begin(), owned.end(),
            [](const Range& x, const Range& y) { return x.begin < y.begin; });
  for (const Range& range : owned) {
    if (!ranges_.empty()) {
      OwnedRange& last = ranges_.back();
      uint64_t last_end = last.address + last.size_bytes;
      if (range.begin <= last_end) {
        last.size_bytes = std::max(last_end, range.end) - last.address;
        continue;
      }
    }
    ranges_.push_back({range.begin, range.end - range.begin, 0});
  }
  if (plain && ranges_.size() > 1) {
    ranges_.front().size_bytes =
        ranges_.back().address + ranges_.back().size_bytes - ranges_.front().address;
    ranges_.resize(1);
  }
  for (OwnedRange& range : ranges_) {
    range.axis_bytes = total_bytes_;
    total_bytes_ += range.size_bytes;
  }
}

uint64_t OwnedAxis::axisOf(uint64_t address) const {
  auto after = std::partition_point(ranges_.begin(), ranges_.end(),
                                    [&](const OwnedRange& r) { return r.address <= address; });
  if (after == ranges_.begin()) return 0;
  const OwnedRange& range = *(after - 1);
  return range.axis_bytes + std::min(address - range.address, range.size_bytes);
}

uint64_t OwnedAxis::addressAt(uint64_t axis_bytes) const {
  if (ranges_.empty()) return 0;
  auto after = std::partition_point(ranges_.begin(), ranges_.end(), [&](const OwnedRange& r) {
    return r.axis_bytes <= axis_bytes;
  });
  const OwnedRange& range = *(after - 1);
  return range.address + std::min(axis_bytes - range.axis_bytes, range.size_bytes - 1);
}

}  // namespace tidegauge::view
