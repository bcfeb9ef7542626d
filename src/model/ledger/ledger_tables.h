// The tables of a ProcessLedger beside its holdings and sums: pools, physical memory, blocks of a
// framework, addresses that were freed.
//
//   cuMemAddressReserve 0x7f00 ─► reservations        cuMemCreate h ─► by_handle ─► a holding's row
//   cuMemMap 0x7f00 → h        ─► mappings, of_row
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "model/memory_call.h"

namespace tidegauge::model {

struct PoolSum {
  int32_t device = kUnknownDevice;
  uint64_t used_bytes = 0;
  uint64_t most_used_bytes = 0;  // since the last trim: the pool had reserved at least this much
  bool is_destroyed = false;
};

// By handle, 0 = the default pool, and device.
using PoolSums = std::map<std::pair<uint64_t, int32_t>, PoolSum>;

struct Mapping {  // of physical memory, or of an alias, to [its key, end)
  uint64_t end = 0;
  uint32_t holding = 0;
  bool is_alias = false;
  uint64_t place = 0;
  int32_t device = kUnknownDevice;
  uint32_t stack = kNoStackOfCall;
};

struct Reservation {
  uint64_t end = 0;
  uint64_t place = 0;
  int64_t since_ns = 0;
};

// A handle of physical memory; stale once its row has another place.
struct PhysicalHandle {
  uint32_t row = 0;
  uint64_t place = 0;
};

struct PhysicalTables {
  boost::unordered_flat_map<uint64_t, PhysicalHandle> by_handle;
  boost::unordered_flat_map<uint64_t, PhysicalHandle> carried;  // by key (carried.cpp)
  std::map<uint64_t, Reservation> reservations;                 // by address
  std::map<uint64_t, Mapping> mappings;                         // by address
  std::set<std::pair<uint32_t, uint64_t>> of_row;               // row, key of a mapping
  // Mapped places in which the framework has placed blocks: stream of the first.
  boost::unordered_flat_map<uint64_t, uint64_t> framework_places;
  uint64_t mapped_bytes = 0;
};

// A block of a framework's allocator.
struct FrameworkBlock {
  uint64_t size_bytes = 0;
  uint64_t stream = 0;
  uint64_t place = 0;  // that it lies in; 0: memory that is older than the recording
  int64_t since_ns = 0;
  int32_t device = kUnknownDevice;
  uint32_t stack = kNoStackOfCall;
  uint32_t thread = 0;
};

using FrameworkBlocks = std::map<uint64_t, FrameworkBlock>;  // by address

// Memory of a graph's node: handed out when the graph runs.
struct Promise {
  uint64_t size_bytes = 0;
  int32_t device = kUnknownDevice;
};

// Addresses that were freed, a million at most: a second free of one is no free of older memory.
class FreedAddresses {
 public:
  void add(uint64_t address) {
    if (addresses_.size() < kMaxAddresses) addresses_.insert(address);
  }
  bool contains(uint64_t address) const { return addresses_.contains(address); }
  void clear() { addresses_.clear(); }

 private:
  static constexpr size_t kMaxAddresses = size_t{1} << 20;
  boost::unordered_flat_set<uint64_t> addresses_;
};

}  // namespace tidegauge::model
