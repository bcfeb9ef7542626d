// Allocator: PyTorch's caching allocator of one device, as a deterministic simulator. It executes
// requests, asks a Driver for memory, and passes a Listener every entry that PyTorch would have
// recorded.
//
//   Allocator allocator(settings, device_bytes, driver, listener);
//   auto block = allocator.malloc(3 << 20, stream, owner);   // segment_alloc 20 MiB, alloc 3 MiB
//   allocator.free(*block, /*is_shared=*/false);             // free_requested, free_completed
//
//   malloc:  completions → search → garbage → driver → release oversize blocks, driver
//            → release all cached, driver → oom
//
// Independent of traces: verify.h and what_if.h replay them. A value: copies are independent,
// except for driver and listener, which rebind() replaces. Names as in CUDACachingAllocator.cpp
// (DeviceCachingAllocator); differences between versions are values of Settings. Cost: about 200 ns
// for an allocation and its free; 56 bytes per block, about 60 more for a free one.
#pragma once

#include <algorithm>
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
  // `device_bytes`: the size of the device as the driver reports it. settings.fraction and the
  // address range of an expandable segment are relative to it.
  Allocator(const Settings& settings, uint64_t device_bytes, Driver& driver, Listener& listener);
  void rebind(Driver& driver, Listener& listener) {
    driver_ = &driver;
    listener_ = &listener;
  }

  // ---- requests of the program -----------------------------------------------------------------
  // None: out of memory. 0 < request_bytes ≤ 1 EiB. `name` is stored with the block.
  std::optional<BlockId> malloc(uint64_t request_bytes, StreamRank stream, OwnerIndex owner,
                                uint32_t name = 0);
  // `is_shared`: record_stream shared it with other streams, so it is free only when they are done.
  void free(BlockId id, bool is_shared);
  // The other streams are done with it; takes effect when the next malloc begins.
  void markDone(BlockId block);
  void processEvents();
  void emptyCache() { releaseCachedBlocks(); }
  // The private pools are unused: the next flush releases their cache.
  void releasePool(OwnerIndex owner);

  // ---- state -----------------------------------------------------------------------------------
  const Block& block(BlockId id) const { return blocks_[id]; }
  // The block was allocated under this name, and is not free.
  bool holds(BlockId id, uint32_t name) const {
    return id.valid() && blocks_[id].name == name && !blocks_[id].isFree();
  }
  const SegmentRow& segment(SegmentIndex id) const { return segments_[id]; }
  // The cost of a copy, in rows of a vector: a node of a map and a pair of pools count as many.
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
  // More is reserved than its garbage threshold allows: the next request that is not in the cache
  // collects first.
  bool wouldCollect() const { return collects_garbage_ && reserved_bytes_ > garbageLimitBytes(); }
  bool knows(OwnerIndex owner) const { return owner < owners_.size() && owners_[owner].exists; }
  // The size of the address range that an expandable segment reserves.
  uint64_t rangeBytes(uint64_t page_bytes) const {
    return roundUp(device_bytes_ + device_bytes_ / 8, page_bytes);
  }
  // Segments by address.
  const std::map<uint64_t, SegmentIndex>& byAddress() const { return by_address_; }

  // ---- recorded changes, applied whatever the rules say (verify.cpp) ---------------------------
  // The block with this address; absent: no segment contains it.
  std::optional<BlockId> blockAt(uint64_t address) const;
  // The same for ascending addresses: searches from `at` on, if that is in the same segment and not
  // above the address.
  std::optional<BlockId> blockFrom(BlockId at, uint64_t address) const;
  // Free blocks and holes visited by searches: PyTorch visits them, too, and a hostile file may
  // cause endless visits.
  uint64_t searched() const { return searched_; }
  // A segment from cudaMalloc, or addresses to map pages into (page_bytes > 0); it is one free
  // block.
  BlockId adopt(uint64_t address, uint64_t bytes, uint64_t page_bytes, StreamRank stream,
                OwnerIndex owner, bool is_small);
  // Splits a block for [address, + bytes) from a free block; it is still free.
  BlockId carve(BlockId from, uint64_t address, uint64_t bytes);
  // Removes it from the free set and marks it as used.
  BlockId take(BlockId block, uint64_t rounded_bytes, uint64_t request_bytes, uint32_t name);
  void releaseSegment(BlockId id);            // one whole cudaMalloc segment
  void mapPages(BlockId id, uint64_t bytes);  // at the front of a hole
  void unmapPages(BlockId id);                // the whole pages inside it
  void beginCounting();                       // resets: adopted memory is not the program's doing

 private:
  // choosing
  Owner& ownerFor(OwnerIndex owner);
  Pool& poolOf(const Block& block) { return owners_[block.owner].of(block.is_small); }
  bool usesExpandable(OwnerIndex owner) const {
    return settings_.expandable && (owner == 0 || settings_.private_pools_expandable) &&
           !hasOwnAllocator(owner);
  }
  bool hasOwnAllocator(OwnerIndex owner) const {
    const auto& pools = settings_.own_allocator_pools;
    return !pools.empty() && std::ranges::binary_search(pools, owner);
  }
  std::optional<BlockId> findFreeBlock(Pool& pool, StreamRank stream, uint64_t bytes);
  bool shouldSplit(const Block& block, uint64_t bytes) const;
  uint64_t growable(const Block& block) const;
  BlockId handOut(BlockId id, uint64_t rounded_bytes, uint64_t request_bytes, uint32_t name);

  // returning to the pool
  void freeBlock(BlockId id);
  uint64_t merge(BlockId id, BlockId other);
  FreeShelf& shelfOf(const Block& block);  // the shelf it belongs to
  void insert(BlockId id);
  void remove(BlockId id);
  void linkPrev(BlockId id, BlockId prev);
  void linkNext(BlockId id, BlockId next);

  // deferred frees
  void wait(BlockId id);
  void doneWaiting(BlockId id);
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

  // releasing memory (allocator_release.cpp)
  uint64_t garbageLimitBytes() const {
    return static_cast<uint64_t>(settings_.gc_threshold * static_cast<double>(cap_bytes_));
  }
  void collectGarbage();
  bool releaseAvailable(const Want& want);
  void releaseCachedBlocks();
  void releaseBlocks(OwnerIndex owner, bool is_small);
  void releaseBlock(BlockId id);
  void unmapBlock(BlockId id);
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
  std::vector<OwnerIndex> private_order_;  // existing private pools, in order of creation
  std::vector<BlockId> waiting_;           // for other streams, in order of frees; gaps are invalid
  size_t waiting_gaps_ = 0;
  std::vector<BlockId> done_;  // of these: take effect when the next malloc begins
  uint32_t segments_made_ = 0;
  uint64_t reserved_bytes_ = 0;
  uint64_t searched_ = 0;
  Stats stats_;
};

}  // namespace tidegauge::replay
