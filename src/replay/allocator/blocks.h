// The blocks of a simulated device: every range of addresses that the allocator distinguishes: in
// use, free, or (in an expandable segment) unmapped. Rows with 32-bit ids: a copy of the state is a
// copy of a vector.
//
//   segment 3   [ b7 in use ][ b2 free      ][ b9 in use ]    prev and next stay within the segment
//
// Cost: 56 bytes per block; ids of merged blocks are reused.
#pragma once

#include <cstdint>
#include <vector>

#include "base/id.h"

namespace tidegauge::replay {

using BlockId = base::Id<struct BlockTag>;
using SegmentIndex = base::Id<struct SimulatedSegmentTag>;
using StreamRank = uint16_t;  // in the order of the streams' pointers
using OwnerIndex =
    uint16_t;  // of a pair of pools: 0 is the default; others are private (graphs, MemPool)

struct Block {
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t requested_bytes = 0;
  SegmentIndex segment{};
  BlockId prev{}, next{};
  uint32_t waits_at = 0;  // its index among blocks that wait for other streams
  uint32_t searches = 0;  // counter of its pool when it became free
  uint32_t name = 0;      // identifies it to the caller
  StreamRank stream = 0;
  OwnerIndex owner = 0;
  bool is_small = false;  // the pool's kind
  bool is_mapped = true;
  bool is_allocated = false;
  bool waits = false;  // freed, but other streams may still use it

  bool isFree() const { return !is_allocated && !waits; }
  bool isSplit() const { return prev.valid() || next.valid(); }
};

// Memory from the driver: one cudaMalloc, or a range of addresses to map pages into.
struct SegmentRow {
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint32_t order = 0;       // number of segments created before it
  uint64_t page_bytes = 0;  // 0: cudaMalloc
  BlockId first{};          // at its lowest address; invalid: the row is unused
};

template <class Row, class RowId>
class Rows {
 public:
  Row& operator[](RowId id) { return rows_[id.index()]; }
  const Row& operator[](RowId id) const { return rows_[id.index()]; }
  RowId add(const Row& row) {
    if (unused_.empty()) {
      rows_.push_back(row);
      return RowId(static_cast<uint32_t>(rows_.size() - 1));
    }
    RowId id = unused_.back();
    unused_.pop_back();
    rows_[id.index()] = row;
    return id;
  }
  void remove(RowId id) {
    rows_[id.index()] = {};
    unused_.push_back(id);
  }
  size_t size() const { return rows_.size(); }  // used and unused rows
  size_t used() const { return rows_.size() - unused_.size(); }

 private:
  std::vector<Row> rows_;
  std::vector<RowId> unused_;
};

using Blocks = Rows<Block, BlockId>;
using SegmentRows = Rows<SegmentRow, SegmentIndex>;

}  // namespace tidegauge::replay
