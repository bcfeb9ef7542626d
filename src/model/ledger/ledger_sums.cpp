#include "model/ledger/ledger_sums.h"

#include <algorithm>

namespace tidegauge::model {

bool isDeviceMemory(MemoryKind kind) {
  return kind == MemoryKind::kDevice || kind == MemoryKind::kManaged || kind == MemoryKind::kPool ||
         kind == MemoryKind::kPhysical || kind == MemoryKind::kArray;
}
bool isHostMemory(MemoryKind kind) {
  return kind == MemoryKind::kPinnedHost || kind == MemoryKind::kRegisteredHost;
}

void LedgerSums::add(int32_t device, MemoryKind kind, uint64_t bytes) {
  live_bytes_ += bytes;
  change(device, kind, [&](MemorySum& sum) {
    sum.bytes += bytes;
    sum.peak_bytes = std::max(sum.peak_bytes, sum.bytes);
    ++sum.live;
    ++sum.allocations;
  });
}

void LedgerSums::addCarried(int32_t device, MemoryKind kind, uint64_t bytes) {
  add(device, kind, bytes);
  change(device, kind, [](MemorySum& sum) { --sum.allocations; });
}

void LedgerSums::take(int32_t device, MemoryKind kind, uint64_t bytes, Cause cause) {
  live_bytes_ -= bytes;
  change(device, kind, [&](MemorySum& sum) {
    sum.bytes -= bytes;
    --sum.live;
    ++(cause == Cause::kCall       ? sum.frees
       : cause == Cause::kImplicit ? sum.implicit_frees
                                   : sum.missed_frees);
  });
}

void LedgerSums::findFree(int32_t device, MemoryKind kind) {
  change(device, kind, [](MemorySum& sum) {
    --sum.missed_frees;
    ++sum.frees;
  });
}

void LedgerSums::move(int32_t from_device, int32_t to_device, MemoryKind kind, uint64_t bytes) {
  live_bytes_ -= bytes;
  change(from_device, kind, [&](MemorySum& sum) {
    sum.bytes -= bytes;
    --sum.live;
    --sum.allocations;
  });
  add(to_device, kind, bytes);
}

void LedgerSums::addFailure(int32_t device, MemoryKind kind) {
  change(device, kind, [](MemorySum& sum) { ++sum.failures; });
}

const MemorySum& LedgerSums::of(int32_t device, MemoryKind kind) const {
  static const MemorySum kNothing;
  auto at = sums_.find(keyOf(device, static_cast<size_t>(kind)));
  return at == sums_.end() ? kNothing : at->second;
}

const MemorySum& LedgerSums::ofDevice(int32_t device) const {
  return of(device, static_cast<MemoryKind>(kAllDeviceKinds));
}

std::vector<int32_t> LedgerSums::devices() const {
  std::vector<int32_t> devices;
  for (const auto& [key, sum] : sums_) devices.push_back(static_cast<int32_t>(key >> 8));
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  return devices;
}

}  // namespace tidegauge::model
