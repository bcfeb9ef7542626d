#include "replay/allocator/allocator.h"

#include <algorithm>
#include <iterator>

namespace tidegauge::replay {

using model::Action;

Allocator::Allocator(const Settings& settings, uint64_t device_bytes, Driver& driver,
                     Listener& listener)
    : settings_(settings),
      device_bytes_(device_bytes),
      cap_bytes_(settings.capBytes(device_bytes)),
      collects_garbage_(cap_bytes_ != kUnlimited && settings.gc_threshold > 0),
      driver_(&driver),
      listener_(&listener) {
  (void)ownerFor(0);
}

// ---- choosing -----------------------------------------------------------------------------------

// An owner that is allocated from is in use.
Owner& Allocator::ownerFor(OwnerIndex owner) {
  if (owner >= owners_.size()) {
    owners_.resize(size_t{owner} + 1);
    stats_.reserved_of_owner.resize(owners_.size());
  }
  Owner& it = owners_[owner];
  if (!it.exists && owner != 0) private_order_.push_back(owner);
  it.exists = true;
  it.is_released = false;
  return it;
}

// Its size if the hole after it were mapped.
uint64_t Allocator::growable(const Block& block) const {
  bool has_hole = block.next.valid() && !blocks_[block.next].is_mapped;
  return block.bytes + (has_hole ? blocks_[block.next].bytes : 0);
}

// Best fit on one stream; the block stays in its set. The oversize rules apply to the block that
// was found; larger ones are not tried.
std::optional<BlockId> Allocator::findFreeBlock(Pool& pool, StreamRank stream, uint64_t bytes) {
  const FreeShelf& shelf = pool.on(stream).mapped;
  auto at = shelf.atLeast(bytes);
  auto isExpandable = [&](const FreeKey& key) {
    return segments_[blocks_[key.block].segment].page_bytes > 0;
  };
  if (settings_.expandable) {
    // Prefers a slightly larger inner block to the end that can grow.
    for (; at != shelf.end() && isExpandable(shelf[at]); at = shelf.next(at), ++searched_) {
      auto next = shelf.next(at);
      if (next == shelf.end() ||
          growable(blocks_[shelf[next].block]) >= growable(blocks_[shelf[at].block]))
        break;
    }
  }
  if (at == shelf.end()) return std::nullopt;
  const FreeKey& found = shelf[at];
  if (bytes < settings_.max_split_bytes && found.bytes >= settings_.max_split_bytes)
    return std::nullopt;
  if (bytes >= settings_.max_split_bytes &&
      found.bytes - bytes >= settings_.max_non_split_rounding_bytes)
    return std::nullopt;
  return found.block;
}

bool Allocator::shouldSplit(const Block& block, uint64_t bytes) const {
  uint64_t rest = block.bytes - bytes;
  bool splits_finely = settings_.expandable && !hasOwnAllocator(block.owner);
  if (block.is_small || splits_finely) return rest >= kMinBlockBytes;
  return bytes < settings_.max_split_bytes && rest > kSmallBytes;
}

// ---- the request --------------------------------------------------------------------------------

std::optional<BlockId> Allocator::malloc(uint64_t request_bytes, StreamRank stream,
                                         OwnerIndex owner, uint32_t name) {
  processEvents();
  Want want;
  want.rounded_bytes = settings_.roundedBytes(request_bytes);
  want.segment_bytes = settings_.segmentBytes(want.rounded_bytes);
  want.is_small = want.rounded_bytes <= kSmallBytes;
  want.stream = stream;
  want.owner = owner;
  Pool& pool = ownerFor(owner).of(want.is_small);
  if (collects_garbage_) ++pool.searches;
  auto block = findFreeBlock(pool, stream, want.rounded_bytes);
  if (block) {
    remove(*block);
    return handOut(*block, want.rounded_bytes, request_bytes, name);
  }
  if (collects_garbage_) collectGarbage();
  block = allocBlock(want);
  if (!block && releaseAvailable(want)) block = allocBlock(want);
  if (!block) {
    releaseCachedBlocks();
    ++stats_.retries;
    block = allocBlock(want);
  }
  if (!block) {
    ++stats_.ooms;
    write(Action::kOom, driver_->freeBytes(), want.rounded_bytes, stream, owner);
    return std::nullopt;
  }
  return handOut(*block, want.rounded_bytes, request_bytes, name);
}

// alloc_found_block: the front becomes the allocation, the rest returns to the free set. `id` is in
// no set.
BlockId Allocator::handOut(BlockId id, uint64_t rounded_bytes, uint64_t request_bytes,
                           uint32_t name) {
  bool was_split = blocks_[id].isSplit(), is_small = blocks_[id].is_small;
  bool is_cuda_malloc = segments_[blocks_[id].segment].page_bytes == 0;
  StatOfKinds& splits = stats_[Quantity::kInactiveSplit];
  StatOfKinds& split_bytes = stats_[Quantity::kInactiveSplitBytes];
  if (shouldSplit(blocks_[id], rounded_bytes)) {
    BlockId rest = id;
    Block front = blocks_[rest];
    front.bytes = rounded_bytes;
    front.next = rest;
    id = blocks_.add(front);
    linkPrev(id, front.prev);
    blocks_[rest].prev = id;
    blocks_[rest].address += rounded_bytes;
    blocks_[rest].bytes -= rounded_bytes;
    insert(rest);
    if (is_cuda_malloc) {
      if (!was_split) splits.add(is_small, 1);
      split_bytes.add(is_small,
                      was_split ? minus(rounded_bytes) : static_cast<int64_t>(blocks_[rest].bytes));
    }
  } else if (was_split && is_cuda_malloc) {
    splits.add(is_small, -1);
    split_bytes.add(is_small, minus(blocks_[id].bytes));
  }
  Block& block = blocks_[id];
  block.is_allocated = true;
  block.requested_bytes = request_bytes;
  block.name = name;
  write(Action::kAlloc, block.address, request_bytes, block.stream, block.owner);
  auto bytes = static_cast<int64_t>(block.bytes);
  stats_[Quantity::kAllocation].add(is_small, 1);
  stats_[Quantity::kAllocatedBytes].add(is_small, bytes);
  stats_[Quantity::kActive].add(is_small, 1);
  stats_[Quantity::kActiveBytes].add(is_small, bytes);
  stats_[Quantity::kRequestedBytes].add(is_small, static_cast<int64_t>(request_bytes));
  if (block.bytes >= settings_.max_split_bytes) stats_.oversize_allocations.add(1);
  return id;
}

// ---- the free -----------------------------------------------------------------------------------

void Allocator::free(BlockId id, bool is_shared) {
  Block& block = blocks_[id];
  block.is_allocated = false;
  write(Action::kFreeRequested, block.address, block.requested_bytes, block.stream, block.owner);
  stats_[Quantity::kAllocation].add(block.is_small, -1);
  stats_[Quantity::kAllocatedBytes].add(block.is_small, minus(block.bytes));
  if (block.bytes >= settings_.max_split_bytes) stats_.oversize_allocations.add(-1);
  if (is_shared) {
    wait(id);
  } else {
    freeBlock(id);
  }
}

// FREE_COMPLETED: merges with its neighbours and returns to its pool.
void Allocator::freeBlock(BlockId id) {
  Block& block = blocks_[id];
  write(Action::kFreeCompleted, block.address, block.requested_bytes, block.stream, block.owner);
  bool is_small = block.is_small;
  uint64_t bytes = block.bytes;
  uint64_t requested_bytes = block.requested_bytes;
  int64_t splits = 0;
  uint64_t split_bytes = 0;  // one change of each: peaks and sums count net changes
  for (BlockId neighbour : {block.prev, block.next}) {
    uint64_t absorbed = merge(id, neighbour);
    splits -= absorbed > 0 ? 1 : 0;
    split_bytes -= absorbed;
  }
  insert(id);
  if (block.isSplit()) {
    ++splits;
    split_bytes += block.bytes;
  }
  if (segments_[block.segment].page_bytes == 0) {
    stats_[Quantity::kInactiveSplit].add(is_small, splits);
    stats_[Quantity::kInactiveSplitBytes].add(is_small, static_cast<int64_t>(split_bytes));
  }
  stats_[Quantity::kActive].add(is_small, -1);
  stats_[Quantity::kActiveBytes].add(is_small, minus(bytes));
  stats_[Quantity::kRequestedBytes].add(is_small, minus(requested_bytes));
}

// Absorbs a neighbour that is free and mapped in the same way; returns its bytes. `id` is in no
// set.
uint64_t Allocator::merge(BlockId id, BlockId other_id) {
  if (!other_id.valid()) return 0;
  Block& block = blocks_[id];
  const Block other = blocks_[other_id];
  if (!other.isFree() || other.is_mapped != block.is_mapped) return 0;
  remove(other_id);
  block.bytes += other.bytes;
  if (block.prev == other_id) {
    block.address = other.address;
    linkPrev(id, other.prev);
  } else {
    linkNext(id, other.next);
  }
  blocks_.remove(other_id);
  return other.bytes;
}

void Allocator::linkPrev(BlockId id, BlockId prev) {
  blocks_[id].prev = prev;
  if (prev.valid()) {
    blocks_[prev].next = id;
  } else {
    segments_[blocks_[id].segment].first = id;
  }
}

void Allocator::linkNext(BlockId id, BlockId next) {
  blocks_[id].next = next;
  if (next.valid()) blocks_[next].prev = id;
}

FreeShelf& Allocator::shelfOf(const Block& block) {
  StreamShelf& shelf = poolOf(block).on(block.stream);
  bool is_idle = !settings_.expandable && segments_[block.segment].page_bytes > 0;
  return is_idle ? shelf.idle : shelf.mapped;
}

void Allocator::insert(BlockId id) {
  Block& block = blocks_[id];
  Pool& pool = poolOf(block);
  block.searches = pool.searches;
  if (!block.is_mapped) {
    pool.on(block.stream).holes.insert({block.address, id});
    return;
  }
  pool.has_news = true;
  uint32_t order = settings_.tie == TieBreak::kSegment ? segments_[block.segment].order : 0;
  shelfOf(block).insert({block.bytes, order, id, block.address});
}

void Allocator::remove(BlockId id) {
  const Block& block = blocks_[id];
  if (!block.is_mapped) {
    poolOf(block).on(block.stream).holes.erase({block.address, id});
    return;
  }
  uint32_t order = settings_.tie == TieBreak::kSegment ? segments_[block.segment].order : 0;
  shelfOf(block).erase({block.bytes, order, id, block.address});
}

// ---- frees that wait for other streams ----------------------------------------------------------

void Allocator::wait(BlockId id) {
  blocks_[id].waits = true;
  blocks_[id].waits_at = static_cast<uint32_t>(waiting_.size());
  waiting_.push_back(id);
}

void Allocator::doneWaiting(BlockId id) {
  Block& block = blocks_[id];
  if (!block.waits) return;
  block.waits = false;
  waiting_[block.waits_at] = BlockId();
  ++waiting_gaps_;
  freeBlock(id);
  if (waiting_gaps_ * 2 < waiting_.size() || waiting_.size() < 64) return;
  std::erase(waiting_, BlockId());
  waiting_gaps_ = 0;
  for (size_t i = 0; i < waiting_.size(); ++i)
    blocks_[waiting_[i]].waits_at = static_cast<uint32_t>(i);
}

void Allocator::markDone(BlockId block) { done_.push_back(block); }

void Allocator::processEvents() {
  for (BlockId block : done_) doneWaiting(block);
  done_.clear();
}

void Allocator::synchronize() {
  ++stats_.syncs;
  done_.clear();
  if (waiting_.empty()) return;
  std::erase(waiting_, BlockId());
  std::vector<BlockId> blocks = std::move(waiting_);
  waiting_.clear();
  waiting_gaps_ = 0;
  listener_->arrange(blocks);
  for (BlockId block : blocks) {
    blocks_[block].waits = false;
    freeBlock(block);
  }
}

void Allocator::releasePool(OwnerIndex owner) {
  if (owner != 0 && knows(owner)) owners_[owner].is_released = true;
}

// ---- what was recorded --------------------------------------------------------------------------

// carve() splits without counting: splits are counted here.
void Allocator::beginCounting() {
  StatOfKinds& splits = stats_[Quantity::kInactiveSplit];
  StatOfKinds& split_bytes = stats_[Quantity::kInactiveSplitBytes];
  splits = split_bytes = {};
  for (const auto& [address, id] : by_address_) {
    if (segments_[id].page_bytes > 0) continue;
    for (BlockId at = segments_[id].first; at.valid(); at = blocks_[at].next) {
      const Block& block = blocks_[at];
      if (!block.isFree() || !block.isSplit()) continue;
      splits.add(block.is_small, 1);
      split_bytes.add(block.is_small, static_cast<int64_t>(block.bytes));
    }
  }
  stats_.beginAnew();
}

std::optional<BlockId> Allocator::blockAt(uint64_t address) const {
  return blockFrom(BlockId(), address);
}

std::optional<BlockId> Allocator::blockFrom(BlockId at, uint64_t address) const {
  auto after = by_address_.upper_bound(address);
  if (after == by_address_.begin()) return std::nullopt;
  SegmentIndex id = std::prev(after)->second;
  const SegmentRow& segment = segments_[id];
  if (address - segment.address >= segment.bytes) return std::nullopt;
  if (!at.valid() || blocks_[at].segment != id || blocks_[at].address > address) at = segment.first;
  while (at.valid() && address - blocks_[at].address >= blocks_[at].bytes) at = blocks_[at].next;
  return at;
}

BlockId Allocator::carve(BlockId from, uint64_t address, uint64_t bytes) {
  remove(from);
  auto cutFront = [&](BlockId id, uint64_t front_bytes) {
    Block front = blocks_[id];
    front.bytes = front_bytes;
    front.next = id;
    BlockId made = blocks_.add(front);
    linkPrev(made, front.prev);
    blocks_[id].prev = made;
    blocks_[id].address += front_bytes;
    blocks_[id].bytes -= front_bytes;
    return made;
  };
  if (address > blocks_[from].address) insert(cutFront(from, address - blocks_[from].address));
  if (blocks_[from].bytes > bytes) {
    BlockId mine = cutFront(from, bytes);
    insert(from);
    from = mine;
  }
  insert(from);
  return from;
}

BlockId Allocator::take(BlockId block, uint64_t rounded_bytes, uint64_t request_bytes,
                        uint32_t name) {
  remove(block);
  return handOut(block, rounded_bytes, request_bytes, name);
}

}  // namespace tidegauge::replay
