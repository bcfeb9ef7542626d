// Allocator: PyTorch's caching allocator of one device, as a deterministic simulator. It does what
// it is told, asks a Driver for memory, and tells a Listener every entry that PyTorch would have
// recorded.
//
//   Allocator allocator(settings, device_bytes, driver, listener);
//   auto block = allocator.malloc(3 << 20, stream, owner);   // segment_alloc 20 MiB, alloc 3 MiB
//   allocator.free(*block, /*is_shared=*/false);             // free_requested, free_completed
//
//   malloc:  completions → search → garbage → driver → oversize blocks back, driver
//            → all cached back, driver → oom
//
// Nothing here looks at a trace: who replays one is verify.h and what_if.h. A value: copies are
// independent, but for driver and listener, which rebind() exchanges. Names as in
// CUDACachingAllocator.cpp (DeviceCachingAllocator); what differs between versions are values of
// Settings. Cost: about 200 ns for an allocation and its free; 56 bytes a block, about 60 more for
// a free one.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "replay/allocator/blocks.h"
#include "replay/allocator/driver.h"
#include "replay/allocator/pool.h"
#include "replay/allocator/settings.h"
#include "replay/allocator/stats.h"

namespace tidegauge::replay {

// One state machine, as PyTorch's own class is: hence its many members.
class Allocator {
 public:
  // `device_bytes`: what the driver says that the device has; settings.fraction is of it, and so
  // are the addresses that an expandable segment reserves.
  Allocator(const Settings& settings, uint64_t device_bytes, Driver& driver, Listener& listener);
  void rebind(Driver& driver, Listener& listener) {
    driver_ = &driver;
    listener_ = &listener;
  }

  // ---- what the program does -------------------------------------------------------------------
  // None: out of memory. 0 < request_bytes ≤ 1 EiB. `name` is kept with the block.
  std::optional<BlockId> malloc(uint64_t request_bytes, StreamRank stream, OwnerIndex owner,
                                uint32_t name = 0);
  // `is_shared`: record_stream gave it to other streams, so it is free only when they are done.
  void free(BlockId block, bool is_shared);
  // The other streams are done with it; seen when the next malloc begins.
  void markDone(BlockId block);
  void processEvents();
  void emptyCache() { releaseCachedBlocks(); }
  // Nobody uses the private pools any more: what they cache goes with the next flush.
  void releasePool(OwnerIndex owner);

  // ---- what is so ------------------------------------------------------------------------------
  const Block& block(BlockId id) const { return blocks_[id]; }
  // It was handed out under this name, and is not free again.
  bool holds(BlockId id, uint32_t name) const {
    return id.valid() && blocks_[id].name == name && !blocks_[id].isFree();
  }
  const SegmentRow& segment(SegmentIndex id) const { return segments_[id]; }
  // What a copy costs, in rows of a vector: what is a node of a map or a pair of pools is many.
  size_t size() const {
    constexpr size_t kNode = 20;
    size_t nodes = by_address_.size();
    for (const Owner& owner : owners_)
      nodes += 1 + owner.small.shelves().size() + owner.large.shelves().size();
    return blocks_.size() + kNode * nodes;
  }
  const Settings& settings() const { return settings_; }
  const Stats& stats() const { return stats_; }
  bool isReleased(OwnerIndex owner) const {
    return owner < owners_.size() && owners_[owner].is_released;
  }
  bool knows(OwnerIndex owner) const { return owner < owners_.size() && owners_[owner].exists; }
  // The addresses that an expandable segment reserves.
  uint64_t rangeBytes(uint64_t page_bytes) const {
    return roundUp(device_bytes_ + device_bytes_ / 8, page_bytes);
  }
  // Segments by address.
  const std::map<uint64_t, SegmentIndex>& byAddress() const { return by_address_; }

  // ---- what was recorded, whatever the rules say (verify.cpp) ----------------------------------
  // The block that has this address; none: it is in no segment.
  std::optional<BlockId> blockAt(uint64_t address) const;
  // The same for who goes up through the addresses: from `at` on, if that is in the same segment
  // and not above it.
  std::optional<BlockId> blockFrom(BlockId at, uint64_t address) const;
  // Free blocks and holes that were passed by in searches: PyTorch goes through them, too, and a
  // hostile file may have it do so without end.
  uint64_t searched() const { return searched_; }
  // cudaMalloc gave this, or addresses to map pages into (page_bytes > 0); one free block of it.
  BlockId adopt(uint64_t address, uint64_t bytes, uint64_t page_bytes, StreamRank stream,
                OwnerIndex owner, bool is_small);
  // A block of its own for [address, + bytes), which lies in a free block; it is still free.
  BlockId carve(BlockId from, uint64_t address, uint64_t bytes);
  // Out of the free set, and in use.
  BlockId take(BlockId block, uint64_t rounded_bytes, uint64_t request_bytes, uint32_t name);
  void giveBack(BlockId block);                 // one whole cudaMalloc
  void mapPages(BlockId hole, uint64_t bytes);  // at the front of a hole
  void unmapPages(BlockId block);               // the whole pages inside it
  void beginCounting();                         // what was adopted is no doing of the program

 private:
  // choosing
  Owner& ownerFor(OwnerIndex owner);
  Pool& poolOf(const Block& block) { return owners_[block.owner].of(block.is_small); }
  bool usesExpandable(OwnerIndex owner) const {
    return settings_.expandable && (owner == 0 || settings_.private_pools_expandable);
  }
  std::optional<BlockId> findFreeBlock(Pool& pool, StreamRank stream, uint64_t bytes);
  bool shouldSplit(const Block& block, uint64_t bytes) const;
  uint64_t growable(const Block& block) const;
  BlockId handOut(BlockId block, uint64_t rounded_bytes, uint64_t request_bytes, uint32_t name);

  // giving back to the pool
  void freeBlock(BlockId block);
  uint64_t merge(BlockId block, BlockId other);
  std::set<FreeKey>& shelfOf(const Block& block);  // that of its own
  void insert(BlockId block);
  void remove(BlockId block);
  void linkPrev(BlockId block, BlockId prev);
  void linkNext(BlockId block, BlockId next);

  // deferred frees
  void wait(BlockId block);
  void doneWaiting(BlockId block);
  void synchronize();

  // getting memory (allocator_memory.cpp)
  struct Want {
    OwnerIndex owner = 0;
    bool is_small = false;
    StreamRank stream = 0;
    uint64_t rounded_bytes = 0, segment_bytes = 0;
  };
  std::optional<BlockId> allocBlock(const Want& want);
  std::optional<BlockId> allocExpandable(const Want& want);
  std::optional<BlockId> findExpandable(const Want& want);
  bool mapBlock(BlockId hole, uint64_t bytes);
  void reserved(const Block& block, int64_t delta);

  // giving memory back (allocator_release.cpp)
  void collectGarbage();
  bool releaseAvailable(const Want& want);
  void releaseCachedBlocks();
  void releaseBlocks(OwnerIndex owner, bool is_small);
  void releaseBlock(BlockId block);
  void unmapBlock(BlockId block);
  void dropSegment(SegmentIndex segment, OwnerIndex owner);

  void write(model::Action action, uint64_t address, uint64_t bytes, StreamRank stream,
             OwnerIndex owner) {
    listener_->wrote({action, address, bytes, stream, owner});
  }

  Settings settings_;
  uint64_t device_bytes_;
  uint64_t cap_bytes_;
  bool collects_garbage_;
  Driver* driver_;
  Listener* listener_;

  Blocks blocks_;
  SegmentRows segments_;
  std::map<uint64_t, SegmentIndex> by_address_;
  std::vector<Owner> owners_;              // by OwnerIndex
  std::vector<OwnerIndex> private_order_;  // private pools that exist, as they were made
  std::vector<BlockId> waiting_;           // for other streams, as they were freed; gaps are none
  size_t waiting_gaps_ = 0;
  std::vector<BlockId> done_;  // of these: will be seen when the next malloc begins
  uint32_t segments_made_ = 0;
  uint64_t reserved_bytes_ = 0;
  uint64_t searched_ = 0;
  Stats stats_;
};

}  // namespace tidegauge::replay
