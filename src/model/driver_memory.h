// DriverMemory: the driver's allocations to one process, one row per life, and where physical
// memory was mapped. The ledger derives it from a recording's calls:
//
//   blocks     0x7f00…   2 MiB  device    10 ns … 90 ns       cudaMalloc, cudaFree
//              –        20 MiB  physical  20 ns … the end     cuMemCreate: charged, no address yet
//   mappings   0x7e00…  20 MiB  of row 1  25 ns … the end     cuMemMap
//
// Device memory and pinned host memory: no other host memory, no aliases, no reservations without
// backing. Cost: 45 bytes per block, 36 per mapping.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "model/memory_call.h"
#include "model/trace.h"

namespace tidegauge::model {

inline constexpr int64_t kLiveAtEnd = std::numeric_limits<int64_t>::max();

struct DriverBlocks {
  std::vector<uint64_t> address;  // the handle of an array; 0: physical memory
  std::vector<uint64_t> size_bytes;
  std::vector<int64_t> begin_ns;  // when the call returned; for carried memory: in its own part
  std::vector<int64_t> end_ns;    // kLiveAtEnd: still live after the last call
  std::vector<int32_t> device;    // kUnknownDevice: not recorded
  std::vector<MemoryKind> kind;
  std::vector<StackId> stack;  // of the trace that this belongs to

  size_t size() const { return address.size(); }
};

struct DriverMappings {
  std::vector<uint32_t> block;  // row of blocks
  std::vector<uint64_t> address;
  std::vector<uint64_t> size_bytes;
  std::vector<int64_t> begin_ns;
  std::vector<int64_t> end_ns;

  size_t size() const { return block.size(); }
};

struct DriverMemory {
  DriverBlocks blocks;  // by begin_ns
  DriverMappings mappings;
  int64_t first_call_ns = 0;  // both 0: no call
  int64_t last_call_ns = 0;
  // What the calls do not contain: frees of device memory older than the recording, and allocations
  // whose address was not recorded.
  uint64_t frees_of_older = 0;
  uint64_t bytes_without_address = 0;
  bool is_from_start = false;  // a context was created before any memory, so nothing is older
};

}  // namespace tidegauge::model
