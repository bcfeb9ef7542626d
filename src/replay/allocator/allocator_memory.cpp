// How the allocator gets memory: cudaMalloc, or pages of an expandable segment.
#include <algorithm>

#include "replay/allocator/allocator.h"

namespace tidegauge::replay {

using model::Action;

std::optional<BlockId> Allocator::allocBlock(const Want& want) {
  // The same effect as a refusal by the driver. The compared size is that of cudaMalloc, even if
  // pages are mapped.
  if (cap_bytes_ != kUnlimited &&
      (want.segment_bytes > cap_bytes_ || reserved_bytes_ > cap_bytes_ - want.segment_bytes))
    return std::nullopt;
  if (usesExpandable(want.owner)) return allocExpandable(want);
  auto address = driver_->malloc(want.segment_bytes);
  if (!address) return std::nullopt;
  BlockId block = adopt(*address, want.segment_bytes, 0, want.stream, want.owner, want.is_small);
  remove(block);
  write(Action::kSegmentAlloc, *address, want.segment_bytes, want.stream, want.owner);
  return block;
}

BlockId Allocator::adopt(uint64_t address, uint64_t bytes, uint64_t page_bytes, StreamRank stream,
                         OwnerIndex owner, bool is_small) {
  Owner& holder = ownerFor(owner);
  ++holder.segments;
  SegmentIndex segment = segments_.add({address, bytes, ++segments_made_, page_bytes, BlockId()});
  by_address_[address] = segment;
  Block block;
  block.address = address;
  block.bytes = bytes;
  block.segment = segment;
  block.stream = stream;
  block.owner = owner;
  block.is_small = is_small;
  block.is_mapped = page_bytes == 0;
  BlockId id = blocks_.add(block);
  segments_[segment].first = id;
  insert(id);
  if (page_bytes == 0) {
    reserved(block, static_cast<int64_t>(bytes));
    stats_[Quantity::kSegment].add(is_small, 1);
    if (bytes >= settings_.max_split_bytes) stats_.oversize_segments.add(1);
  }
  return id;
}

void Allocator::reserved(const Block& block, int64_t delta) {
  reserved_bytes_ += static_cast<uint64_t>(delta);
  stats_[Quantity::kReservedBytes].add(block.is_small, delta);
  if (block.owner != 0) stats_.reserved_of_owner[block.owner].add(block.is_small, delta);
  ++(delta > 0 ? stats_.driver_allocs : stats_.driver_frees);
}

std::optional<BlockId> Allocator::allocExpandable(const Want& want) {
  auto found = findExpandable(want);
  if (!found) return std::nullopt;
  BlockId id = *found;
  if (!blocks_[id].is_mapped && !mapBlock(id, std::min(blocks_[id].bytes, want.rounded_bytes)))
    return std::nullopt;
  while (blocks_[id].bytes < want.rounded_bytes) {
    BlockId hole = blocks_[id].next;  // merges with the block when it is mapped
    uint64_t missing_bytes = want.rounded_bytes - blocks_[id].bytes;
    if (!mapBlock(hole, std::min(missing_bytes, blocks_[hole].bytes))) return std::nullopt;
    id = hole;
  }
  remove(id);
  return id;
}

// The lowest hole from which, with a free block before it, free and unmapped blocks suffice.
std::optional<BlockId> Allocator::findExpandable(const Want& want) {
  Pool& pool = ownerFor(want.owner).of(want.is_small);
  for (const HoleKey& hole : pool.on(want.stream).holes) {
    BlockId start = hole.block;
    BlockId before = blocks_[start].prev;
    if (before.valid() && blocks_[before].isFree() && blocks_[before].is_mapped) start = before;
    uint64_t run_bytes = 0;
    for (BlockId at = start; at.valid() && blocks_[at].isFree() && run_bytes < want.rounded_bytes;
         at = blocks_[at].next, ++searched_)
      run_bytes += blocks_[at].bytes;
    if (run_bytes >= want.rounded_bytes) return start;
  }
  uint64_t page_bytes = want.is_small ? kSmallSegmentBytes : settings_.large_segment_bytes;
  uint64_t range_bytes = rangeBytes(page_bytes);
  if (range_bytes < want.rounded_bytes) return std::nullopt;
  return adopt(driver_->reserve(range_bytes), range_bytes, page_bytes, want.stream, want.owner,
               want.is_small);
}

// Maps pages at the front of a hole. False, without effect, if the driver lacks any of them.
bool Allocator::mapBlock(BlockId hole, uint64_t bytes) {
  // A segment older than the recording may end within a page: where the next one begins.
  bytes =
      std::min(roundUp(bytes, segments_[blocks_[hole].segment].page_bytes), blocks_[hole].bytes);
  if (!driver_->map(blocks_[hole].address, bytes)) return false;
  mapPages(hole, bytes);
  return true;
}

void Allocator::mapPages(BlockId id, uint64_t bytes) {
  remove(id);
  if (bytes < blocks_[id].bytes) {
    Block rest = blocks_[id];
    rest.address += bytes;
    rest.bytes -= bytes;
    rest.prev = id;
    BlockId rest_id = blocks_.add(rest);
    linkNext(rest_id, rest.next);
    blocks_[id].next = rest_id;
    blocks_[id].bytes = bytes;
    insert(rest_id);
  }
  blocks_[id].is_mapped = true;
  uint64_t address = blocks_[id].address;
  merge(id, blocks_[id].prev);
  merge(id, blocks_[id].next);
  insert(id);
  const Block& block = blocks_[id];
  reserved(block, static_cast<int64_t>(bytes));
  write(Action::kSegmentMap, address, bytes, block.stream, block.owner);
}

}  // namespace tidegauge::replay
