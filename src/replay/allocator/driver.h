// The interfaces that the allocator uses: the driver for memory, and a listener for its actions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "model/trace.h"
#include "replay/allocator/blocks.h"

namespace tidegauge::replay {

// The default: more than any device has, so that addresses to map pages into never run out.
inline constexpr uint64_t kUnknownDeviceBytes = uint64_t{1} << 44;

class Driver {
 public:
  virtual ~Driver() = default;
  virtual std::unique_ptr<Driver> clone() const = 0;
  virtual std::optional<uint64_t> malloc(uint64_t bytes) = 0;  // absent: out of memory
  virtual void free(uint64_t address, uint64_t bytes) = 0;
  virtual uint64_t reserve(uint64_t bytes) = 0;  // addresses alone
  virtual void unreserve(uint64_t address, uint64_t bytes) = 0;
  virtual bool map(uint64_t address, uint64_t bytes) = 0;  // all or nothing
  virtual void unmap(uint64_t bytes) = 0;
  virtual uint64_t freeBytes() const = 0;
};

// One line that PyTorch would have written into its trace.
struct Entry {
  model::Action action = model::Action::kAlloc;
  uint64_t address = 0;  // kOom: free bytes of the driver
  uint64_t bytes = 0;
  StreamRank stream = 0;
  OwnerIndex owner = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual void wrote(const Entry& entry) = 0;
  // The order in which blocks are found done when all streams are waited for. A trace contains it
  // (PyTorch's order is that of a hash table of streams); otherwise the order of the frees.
  virtual void arrange(std::span<BlockId> blocks) { (void)blocks; }
};

}  // namespace tidegauge::replay
