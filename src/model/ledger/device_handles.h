// DeviceHandles: which device a stream or a pool of one process belongs to.
//
//   cuStreamCreate → s, the thread is on device 1        ofStream(s) → 1
//   cuMemPoolCreate(location 1) → p, whatever the thread ofPool(p) → 1
//
// A handle that is given out again is of its new device. Cost: O(1).
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>

#include "model/memory_call.h"

namespace tidegauge::model {

class DeviceHandles {
 public:
  // Returned to a program by a call that ended then.
  void addStream(uint64_t handle, int32_t device, int64_t since_ns) {
    streams_[handle] = {device, since_ns};
  }
  void addPool(uint64_t handle, int32_t device, int64_t since_ns) {
    pools_[handle] = {device, since_ns};
  }
  // By a call that began then: a younger handle of that number stays.
  void removeStream(uint64_t handle, int64_t start_ns) { remove(streams_, handle, start_ns); }
  void removePool(uint64_t handle, int64_t start_ns) { remove(pools_, handle, start_ns); }

  // kUnknownDevice: made before the recording, or one of the streams 0, 1 and 2 (the default ones).
  int32_t ofStream(uint64_t handle) const { return find(streams_, handle); }
  int32_t ofPool(uint64_t handle) const { return find(pools_, handle); }
  // By pool or stream, as pool memory is handed out; kUnknownDevice: neither is known.
  int32_t ofMemory(const MemoryCall& call) const {
    if (call.kind != MemoryKind::kPool) return kUnknownDevice;
    return call.handle != 0 ? ofPool(call.handle) : ofStream(call.stream);
  }
  void clear() {
    streams_.clear();
    pools_.clear();
  }

  template <class Visit>
  void forEachStream(const Visit& visit) const {
    for (const auto& [handle, it] : streams_) visit(handle, it.device);
  }
  template <class Visit>
  void forEachPool(const Visit& visit) const {
    for (const auto& [handle, it] : pools_) visit(handle, it.device);
  }

 private:
  struct Known {
    int32_t device = kUnknownDevice;
    int64_t since_ns = 0;
  };
  using ByHandle = boost::unordered_flat_map<uint64_t, Known>;

  static void remove(ByHandle& handles, uint64_t handle, int64_t start_ns) {
    auto at = handles.find(handle);
    if (at != handles.end() && at->second.since_ns <= start_ns) handles.erase(at);
  }
  static int32_t find(const ByHandle& handles, uint64_t handle) {
    auto at = handles.find(handle);
    return at == handles.end() ? kUnknownDevice : at->second.device;
  }

  ByHandle streams_, pools_;
};

}  // namespace tidegauge::model
