// A slow and obvious twin of replay::Allocator: lists that are searched from one end to the other, one way to do
// each thing, written from docs/replay.md. It keeps every block of a segment in one sorted vector, never a link.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/settings.h"

namespace tidegauge::testing {

class NaiveAllocator {
 public:
  NaiveAllocator(const replay::Settings& settings, uint64_t capacity_bytes)
      : settings_(settings), capacity_bytes_(capacity_bytes) {}

  std::optional<uint64_t> malloc(uint64_t request_bytes, uint16_t stream);  // its address
  void free(uint64_t address, bool is_shared);
  void done(uint64_t address) { done_.push_back(address); }
  void emptyCache();

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
    uint16_t stream;
    bool is_small;
    uint64_t order;
    std::vector<Block> blocks;
  };
  struct Place {
    size_t segment, block;
  };

  std::vector<Place> freeBlocks(bool is_small) const;  // in the order of the free set
  std::optional<Place> search(bool is_small, uint16_t stream, uint64_t bytes) const;
  std::optional<Place> getMemory(bool is_small, uint16_t stream, uint64_t bytes);
  std::optional<Place> grow(bool is_small, uint16_t stream, uint64_t bytes);
  bool map(size_t segment, size_t hole, uint64_t bytes);
  void collect();
  bool releaseOversize(bool is_small, uint16_t stream, uint64_t bytes);
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
  uint64_t searches_[2] = {0, 0};  // of the large and the small pool
  std::vector<Segment> segments_;
  std::vector<uint64_t> waiting_, done_;
};

}  // namespace tidegauge::testing
