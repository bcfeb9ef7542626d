#include "replay/allocator/model_driver.h"

#include <algorithm>
#include <iterator>

namespace tidegauge::replay {

std::optional<uint64_t> ModelDriver::malloc(uint64_t bytes) {
  if (bytes > freeBytes()) return std::nullopt;
  used_bytes_ += bytes;
  return reserve(bytes);
}

void ModelDriver::free(uint64_t address, uint64_t bytes) {
  used_bytes_ -= bytes;
  unreserve(address, bytes);
}

uint64_t ModelDriver::reserve(uint64_t bytes) {
  uint64_t address = place(bytes);
  return placement_ == Placement::kHighest ? kTop - address - bytes : address;
}

uint64_t ModelDriver::place(uint64_t bytes) {
  auto gap = gaps_.begin();
  for (; gap != gaps_.end() && gap->second < bytes; ++gap) ++searched_;
  if (gap == gaps_.end()) {
    uint64_t address = end_;
    end_ += bytes;
    return address;
  }
  auto [address, gap_bytes] = *gap;
  gaps_.erase(gap);
  if (gap_bytes > bytes) gaps_.emplace(address + bytes, gap_bytes - bytes);
  return address;
}

void ModelDriver::unreserve(uint64_t address, uint64_t bytes) {
  if (placement_ == Placement::kRising) return;
  if (placement_ == Placement::kHighest) address = kTop - address - bytes;
  auto next = gaps_.lower_bound(address);
  if (next != gaps_.end() && next->first == address + bytes) {
    bytes += next->second;
    next = gaps_.erase(next);
  }
  if (next != gaps_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == address) {
      address = before->first;
      bytes += before->second;
      gaps_.erase(before);
    }
  }
  if (address + bytes == end_) {
    end_ = address;
  } else {
    gaps_.emplace(address, bytes);
  }
}

bool ModelDriver::map(uint64_t, uint64_t bytes) {
  if (bytes > freeBytes()) return false;
  used_bytes_ += bytes;
  return true;
}

}  // namespace tidegauge::replay
