#include "view/map/moved.h"

namespace tidegauge::view {
namespace {

using model::Trace;

// The row of `now` in the device of `row` for which `same` holds; tries the same position first.
template <class Same>
std::optional<uint32_t> findRow(const model::Device& old_device, const Trace& now, uint32_t row,
                                uint64_t model::Device::*begin, uint64_t model::Device::*end,
                                const Same& same) {
  const model::Device* device = now.findDevice(old_device.ordinal);
  if (device == nullptr) return std::nullopt;
  uint64_t guess = device->*begin + (row - old_device.*begin);
  if (guess < device->*end && same(guess)) return static_cast<uint32_t>(guess);
  for (uint64_t at = device->*begin; at < device->*end; ++at) {
    if (same(at)) return static_cast<uint32_t>(at);
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint32_t> movedAllocation(const Trace& before, const Trace& now, uint32_t row) {
  const model::Allocations& a = before.allocations;
  const model::Allocations& b = now.allocations;
  if (row >= a.size()) return std::nullopt;
  return findRow(before.deviceOfAllocation(model::AllocationId(row)), now, row,
                 &model::Device::allocation_begin, &model::Device::allocation_end,
                 [&](uint64_t at) {
                   return b.address[at] == a.address[row] && b.version[at] == a.version[row];
                 });
}

std::optional<uint32_t> movedSegment(const Trace& before, const Trace& now, uint32_t row) {
  const model::Segments& a = before.segments;
  const model::Segments& b = now.segments;
  if (row >= a.size()) return std::nullopt;
  return findRow(before.deviceOfSegment(model::SegmentId(row)), now, row,
                 &model::Device::segment_begin, &model::Device::segment_end, [&](uint64_t at) {
                   return b.address[at] == a.address[row] && b.first_step[at] == a.first_step[row];
                 });
}

}  // namespace tidegauge::view
