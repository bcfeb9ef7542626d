// Pool: the free blocks of one size kind and owner, in search order.
//
//   stream 0   512 B at 0x…  |  2 KiB at 0x…  |  2 KiB at 0x… of a later segment  |  1 MiB …
//   stream 1   …
//
// Blocks of one size: those of the earliest segment first, then by address; or by address alone
// (TieBreak). Holes of expandable segments are stored separately, by address. Cost: O(log n) per
// change.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "replay/allocator/blocks.h"
#include "replay/allocator/free_shelf.h"

namespace tidegauge::replay {

struct HoleKey {
  uint64_t address = 0;
  BlockId block{};
  bool operator<(const HoleKey& other) const { return address < other.address; }
};

struct StreamShelf {
  FreeShelf mapped;
  // In expandable segments that are older than settings without them: they serve no request.
  FreeShelf idle;
  std::set<HoleKey> holes;
};

class Pool {
 public:
  StreamShelf& on(StreamRank stream) { return shelves_[stream]; }
  // In the order of the streams. Only streams that were used: a trace may contain 65,000 of them,
  // and as many pools.
  const std::map<StreamRank, StreamShelf>& shelves() const { return shelves_; }

  // A trace may contain 65,000 streams that never free anything, and flush as often.
  void dropEmptyShelves() {
    std::erase_if(shelves_, [](const auto& it) {
      return it.second.mapped.empty() && it.second.idle.empty() && it.second.holes.empty();
    });
  }

  bool has_news = false;  // something became free since the last flush
  uint32_t searches = 0;  // counted for garbage collection: the clock for the age of a free block

 private:
  std::map<StreamRank, StreamShelf> shelves_;
};

// The default pools, or those of a graph or MemPool.
struct Owner {
  Pool small, large;
  bool exists = false;       // something was allocated from it
  bool is_released = false;  // its last user released it: its cache may be released
  uint32_t segments = 0;

  Pool& of(bool is_small) { return is_small ? small : large; }
  const Pool& of(bool is_small) const { return is_small ? small : large; }
};

}  // namespace tidegauge::replay
