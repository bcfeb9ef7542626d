// A slow and obvious twin of replay::Allocator: lists that are searched from one end to the other,
// one way to do each thing, written from a description of PyTorch's rules and not from that code.
// It keeps every block of a segment in one sorted vector, never a link.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "replay/allocator/settings.h"

namespace tidegauge::testing {

class NaiveAllocator {
 public:
  NaiveAllocator(const replay::Settings& settings, uint64_t capacity_bytes)
      : settings_(settings), capacity_bytes_(capacity_bytes) {}

  // Its address. `owner`: 0, or a private pool.
  std::optional<uint64_t> malloc(uint64_t request_bytes, uint16_t stream, uint32_t owner);
  void free(uint64_t address, bool is_shared);
  void done(uint64_t address) { done_.push_back(address); }
  void emptyCache();
  void releasePool(uint32_t owner) { released_.insert(owner); }

  // "alloc 700000000000 512 0": every entry, in order.
  std::vector<std::string> entries;

 private:
  enum class State : uint8_t { kFree, kUsed, kWaiting, kHole };
  struct Block {
    uint64_t address, bytes, requested_bytes;
    State state;
    uint64_t since;  // searches of its pool when it became free
  };
  struct Segment {
    uint64_t address, bytes, page_bytes;
    uint32_t owner;
    uint16_t stream;
    bool is_small;
    uint64_t order;
    std::vector<Block> blocks;
  };
  struct Place {
    size_t segment, block;
  };

  // A request: of whom, and how much once it is rounded.
  struct Want {
    uint32_t owner;
    bool is_small;
    uint16_t stream;
    uint64_t bytes;
  };

  uint64_t rounded(uint64_t bytes) const;
  uint64_t ofTheDriver(uint64_t rounded_bytes) const;
  uint64_t capBytes() const;
  bool hasOwnAllocator(uint32_t owner) const {
    for (uint16_t pool : settings_.own_allocator_pools)
      if (pool == owner) return true;
    return false;
  }
  std::vector<Place> freeBlocks(uint32_t owner,
                                bool is_small) const;  // in the order of the free set
  std::optional<Place> search(const Want& want) const;
  std::optional<Place> getMemory(const Want& want);
  std::optional<Place> grow(const Want& want);
  void flush(uint32_t owner, bool is_small);
  bool map(size_t segment, size_t hole, uint64_t bytes);
  void collect();
  bool releaseOversize(const Want& want);
  void release(uint64_t segment_address);
  void unmap(Place place);
  void complete(uint64_t address);
  void join(Segment& segment);
  Place find(uint64_t address) const;
  uint64_t place(uint64_t bytes) const;
  uint64_t usedBytes() const;  // of the device
  void write(const char* what, uint64_t address, uint64_t bytes, uint16_t stream);

  replay::Settings settings_;
  uint64_t capacity_bytes_;
  uint64_t made_ = 0;
  std::map<std::pair<uint32_t, bool>, uint64_t> searches_;  // of each owner's large and small pool
  std::vector<uint32_t> private_pools_;                     // in order of first use
  std::set<uint32_t> released_;
  std::vector<Segment> segments_;
  std::vector<uint64_t> waiting_, done_;
};

}  // namespace tidegauge::testing
