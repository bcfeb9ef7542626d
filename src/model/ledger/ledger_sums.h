// LedgerSums: bytes and counts of a process, by device and kind of memory.
//
//   sums.add(0, MemoryKind::kDevice, 512);   sums.take(0, MemoryKind::kDevice, 512, Cause::kCall);
//   sums.of(0, MemoryKind::kDevice)          → 0 bytes live, peak 512, 1 allocation, 1 free
//   sums.ofDevice(0)                         the same over all kinds that take device memory
//
// Cost: one or two hash lookups per change.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/ledger/effect.h"
#include "model/memory_call.h"

namespace tidegauge::model {

// No process has more than this, and no call more than base::kMaxSizeBytes: so no sum overflows.
inline constexpr uint64_t kMaxProcessBytes = uint64_t{1} << 60;

// The sums for one kind of memory on one device.
struct MemorySum {
  uint64_t bytes = 0;  // live
  uint64_t peak_bytes = 0;
  uint64_t live = 0;  // blocks
  uint64_t allocations = 0;
  uint64_t frees = 0;           // by a call
  uint64_t implicit_frees = 0;  // by the end of a context or process
  uint64_t missed_frees = 0;    // something else shows that it was freed
  uint64_t failures = 0;
};

// Takes device memory of its own; host memory, aliases and promises do not.
bool isDeviceMemory(MemoryKind kind);
bool isHostMemory(MemoryKind kind);

class LedgerSums {
 public:
  void add(int32_t device, MemoryKind kind, uint64_t bytes);
  void addCarried(int32_t device, MemoryKind kind, uint64_t bytes);  // not as an allocation
  void take(int32_t device, MemoryKind kind, uint64_t bytes, Cause cause);
  // The call has come that freed what was taken as kMissed.
  void findFree(int32_t device, MemoryKind kind);
  void move(int32_t from_device, int32_t to_device, MemoryKind kind, uint64_t bytes);
  void addFailure(int32_t device, MemoryKind kind);

  const MemorySum& of(int32_t device, MemoryKind kind) const;
  const MemorySum& ofDevice(int32_t device) const;
  std::vector<int32_t> devices() const;  // with any sum, ascending; kUnknownDevice may be first
  uint64_t liveBytes() const { return live_bytes_; }  // of all kinds and devices

 private:
  static constexpr size_t kAllDeviceKinds = kMemoryKinds;
  static uint64_t keyOf(int32_t device, size_t kind) {
    return static_cast<uint64_t>(static_cast<uint32_t>(device)) << 8 | kind;
  }
  template <class F>
  void change(int32_t device, MemoryKind kind, const F& f) {
    f(sums_[keyOf(device, static_cast<size_t>(kind))]);
    if (isDeviceMemory(kind)) f(sums_[keyOf(device, kAllDeviceKinds)]);
  }

  boost::unordered_flat_map<uint64_t, MemorySum> sums_;
  uint64_t live_bytes_ = 0;
};

}  // namespace tidegauge::model
