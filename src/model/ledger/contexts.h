// Contexts: which device and context a thread of one process is on, and which contexts live.
//
//   cuCtxCreate(c1, device 0) · cuCtxSetCurrent(c1)     where(thread) → {device 0, context c1}
//   cuDevicePrimaryCtxRetain(device 1) twice, released twice → the second release ends it
//
// Cost: O(1) per call.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "model/memory_call.h"

namespace tidegauge::model {

inline constexpr int32_t kMaxDevices = 1024;

struct Where {
  int32_t device = kUnknownDevice;
  uint64_t context = 0;  // 0: not known
};

// What ends with a context.
struct Ended {
  bool any = false;
  int32_t device = kUnknownDevice;
  uint64_t context = 0;
  bool whole_device = false;       // reset: pools and physical memory go as well
  bool last_of_its_device = true;  // then memory of unknown context is its too
};

class Contexts {
 public:
  // A successful call of kind kContext, or kDevice with kSet or kReset.
  Ended take(const MemoryCall& call);
  Where where(const MemoryCall& call) const;
  // What a part of a recording begins with, and the way back: see carried.cpp.
  std::vector<MemoryCall> carried() const;
  void carry(const MemoryCall& call);
  void clear();

 private:
  struct Context {
    int32_t device = kUnknownDevice;
    bool is_primary = false;
    uint64_t references = 1;
    int64_t since_ns = 0;
  };
  struct Thread {
    int32_t device = kUnknownDevice;  // by cudaSetDevice
    std::vector<uint64_t> current;    // contexts, the current one last
  };
  static constexpr size_t kMaxPushed = 64;

  struct OfDevice {
    uint64_t contexts = 0;
    uint64_t primary = 0;  // handle; 0: none
  };

  // What ends with it: a handle that is given out again has ended unseen.
  Ended add(uint64_t handle, const Context& context);
  Ended end(uint64_t context);
  Ended endDevice(int32_t device);

  boost::unordered_flat_map<uint64_t, Context> contexts_;
  boost::unordered_flat_map<int32_t, OfDevice> devices_;
  boost::unordered_flat_map<uint32_t, Thread> threads_;
  bool sees_switches_ = false;  // the stream has kSet, kPush or kPop of contexts
};

}  // namespace tidegauge::model
