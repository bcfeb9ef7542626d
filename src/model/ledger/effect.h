// Effect: what one memory call changed, as the ledger reports it. A driver block, a block of the
// framework inside it, and their ends:
//
//   reserved 2 MiB at 0x7f00 (place 1) · block 4,000 at 0x7f00 (place 1) · block freed · returned
//
// Expandable segments (cuMemCreate, cuMemMap) have three parts: `reserved` is the physical memory
// and has no address, `mapped` gives it one, `unmapped` takes it away.
#pragma once

#include <cstdint>

#include "model/memory_call.h"

namespace tidegauge::model {

enum class What : uint8_t {
  kReserved,  // handed out by the driver, charged from now on
  kReturned,
  kMapped,
  kUnmapped,
  kBlock,  // handed out by the framework
  kBlockFreed,
  kFailure,     // size_bytes was asked for, `code` was the answer
  kPlaced,      // `device` of a place that was not known until now; size_bytes: charged there now
  kOlderFreed,  // at `address`, handed out before the recording: how much is not known
  kAnswered,    // by the driver: `address` bytes of the device's `size_bytes` are free
  kFreeFound,   // of memory that was returned as kMissed: its call has come now
};

enum class Cause : uint8_t {
  kCall,
  kImplicit,  // a context or process ended, a device was reset
  kMissed,    // its own call was not recorded: something else shows that it happened
};

struct Effect {
  int64_t time_ns = 0;
  int64_t since_ns = 0;  // of what comes: time_ns, or, if it is carried, when it really came
  // It happened between these, time_ns being one of them: a call changes something at any moment
  // between its entry and its return. kMissed: since the memory came.
  int64_t earliest_ns = 0, latest_ns = 0;
  uint64_t address = 0;  // of an array: its handle; of physical memory: 0
  uint64_t size_bytes = 0;
  uint64_t stream = 0;
  uint64_t pool = 0;   // handle of the pool; 0: none, or the device's default pool
  uint64_t place = 0;  // what the driver gave as a whole: a block, or a reservation of addresses;
                       // 0: not known
  // For a mapping, the place of its physical memory; 0: an alias, or older than the recording.
  uint64_t physical = 0;
  uint32_t process = 0;
  uint32_t thread = 0;
  uint32_t stack = kNoStackOfCall;  // of what comes: its own; of what goes: of the call
  int32_t device = kUnknownDevice;
  int32_t code = 0;
  uint16_t function = 0;
  What what = What::kReserved;
  Cause cause = Cause::kCall;
  MemoryKind kind = MemoryKind::kDevice;
  Plane plane = Plane::kDriver;  // kRuntime: charged there, since the driver was not seen
  bool is_alias = false;         // mapped, unmapped: of memory that something else is charged for
  bool is_carried = false;       // it was there when this part of a recording began
  bool of_framework = false;     // …, and the framework had placed blocks in it
};

}  // namespace tidegauge::model
