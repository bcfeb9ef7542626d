// How the allocator returns memory to the driver: garbage collection, oversize blocks, the whole
// cache.
#include <algorithm>
#include <vector>

#include "replay/allocator/allocator.h"

namespace tidegauge::replay {

using model::Action;

// garbage_collect_cached_blocks: whole cudaMalloc segments of the default large pool that are at
// least as old as the average, repeatedly until reserved memory is below the threshold.
void Allocator::collectGarbage() {
  uint64_t limit_bytes = garbageLimitBytes();
  if (reserved_bytes_ <= limit_bytes) return;
  uint64_t target_bytes = reserved_bytes_ - limit_bytes, reclaimed_bytes = 0;
  Pool& pool = owners_[0].large;
  std::vector<BlockId> candidates;
  uint64_t ages = 0;
  auto age = [&](BlockId id) { return uint64_t{pool.searches} - blocks_[id].searches; };
  for (const auto& [stream, shelf] : pool.shelves())
    for (const auto* free : {&shelf.mapped, &shelf.idle})
      for (auto at = free->begin(); at != free->end(); at = free->next(at)) {
        const FreeKey& key = (*free)[at];
        ++searched_;
        if (!blocks_[key.block].isSplit()) {
          candidates.push_back(key.block);
          ages += age(key.block);
        }
      }
  while (reclaimed_bytes < target_bytes && !candidates.empty()) {
    double average = static_cast<double>(ages) / static_cast<double>(candidates.size());
    bool freed = false;
    std::vector<BlockId> left;
    for (BlockId id : candidates) {
      bool is_expandable = segments_[blocks_[id].segment].page_bytes > 0;
      if (is_expandable || static_cast<double>(age(id)) < average) {
        left.push_back(id);
        continue;
      }
      reclaimed_bytes += blocks_[id].bytes;
      ages -= age(id);
      releaseBlock(id);
      freed = true;
    }
    if (!freed) return;
    candidates = std::move(left);
  }
}

// release_available_cached_blocks: just enough oversize blocks of the stream; only with a finite
// max_split_size. Released blocks stay released, even if they do not suffice.
bool Allocator::releaseAvailable(const Want& want) {
  uint64_t limit_bytes = settings_.max_split_bytes;
  if (limit_bytes == kUnlimited) return false;
  uint64_t wanted_bytes = std::max(want.rounded_bytes, limit_bytes);
  const FreeShelf& shelf = ownerFor(want.owner).of(want.is_small).on(want.stream).mapped;
  // A split one only occurs under settings that PyTorch would reject.
  auto isWhole = [&](BlockId id) {
    return segments_[blocks_[id].segment].page_bytes == 0 && !blocks_[id].isSplit();
  };
  // Only the first large enough block is tried; if it may not be released, smaller ones follow,
  // largest first.
  auto at = shelf.atLeast(wanted_bytes);
  if (at != shelf.end() && isWhole(shelf[at].block)) {
    releaseBlock(shelf[at].block);
    return true;
  }
  std::vector<BlockId> oversize;
  uint64_t released_bytes = 0;
  while (released_bytes < wanted_bytes) {
    at = shelf.previous(at);
    if (at == shelf.end() || shelf[at].bytes < limit_bytes) break;
    if (!isWhole(shelf[at].block)) continue;
    released_bytes += shelf[at].bytes;
    oversize.push_back(shelf[at].block);
  }
  for (BlockId id : oversize) releaseBlock(id);
  return released_bytes >= wanted_bytes;
}

// release_cached_blocks: waits for all streams, then releases all whole segments.
void Allocator::releaseCachedBlocks() {
  synchronize();
  releaseBlocks(0, false);
  releaseBlocks(0, true);
  searched_ += private_order_.size();
  for (size_t i = 0; i < private_order_.size();) {
    OwnerIndex owner = private_order_[i];
    if (owners_[owner].is_released) {
      releaseBlocks(owner, true);
      releaseBlocks(owner, false);
      if (owners_[owner].segments == 0) {
        owners_[owner] = {};
        private_order_.erase(private_order_.begin() + static_cast<ptrdiff_t>(i));
        continue;
      }
    }
    ++i;
  }
}

void Allocator::releaseBlocks(OwnerIndex owner, bool is_small) {
  Pool& pool = owners_[owner].of(is_small);
  if (!pool.has_news) return;  // an earlier flush released all whole segments
  std::vector<BlockId> whole, mapped;
  searched_ += pool.shelves().size();
  for (const auto& [stream, shelf] : pool.shelves())
    for (const auto* free : {&shelf.mapped, &shelf.idle})
      for (auto at = free->begin(); at != free->end(); at = free->next(at)) {
        const FreeKey& key = (*free)[at];
        const Block& block = blocks_[key.block];
        if (segments_[block.segment].page_bytes > 0) {
          mapped.push_back(key.block);
        } else if (!block.isSplit()) {
          whole.push_back(key.block);
        }
      }
  for (BlockId block : whole) releaseBlock(block);
  for (BlockId block : mapped) unmapBlock(block);
  pool.has_news = false;
  pool.dropEmptyShelves();
}

void Allocator::releaseBlock(BlockId id) {
  driver_->free(blocks_[id].address, blocks_[id].bytes);
  releaseSegment(id);
}

void Allocator::releaseSegment(BlockId id) {
  remove(id);
  const Block block = blocks_[id];
  dropSegment(block.segment, block.owner);
  blocks_.remove(id);
  stats_[Quantity::kSegment].add(block.is_small, -1);
  reserved(block, minus(block.bytes));
  if (block.bytes >= settings_.max_split_bytes) stats_.oversize_segments.add(-1);
  write(Action::kSegmentFree, block.address, block.bytes, block.stream, block.owner);
}

void Allocator::dropSegment(SegmentIndex segment, OwnerIndex owner) {
  --owners_[owner].segments;
  by_address_.erase(segments_[segment].address);
  segments_.remove(segment);
}

void Allocator::unmapBlock(BlockId id) {
  const Block& block = blocks_[id];
  const SegmentRow& segment = segments_[block.segment];
  uint64_t before_bytes = block.address - segment.address;
  uint64_t begin = roundUp(before_bytes, segment.page_bytes);
  uint64_t end = (before_bytes + block.bytes) / segment.page_bytes * segment.page_bytes;
  if (end <= begin) return;
  driver_->unmap(end - begin);
  unmapPages(id);
}

// The parts on either side stay free; the rest becomes a hole.
void Allocator::unmapPages(BlockId id) {
  SegmentIndex segment_id = blocks_[id].segment;
  const SegmentRow segment = segments_[segment_id];
  uint64_t before_bytes = blocks_[id].address - segment.address;
  uint64_t begin = segment.address + roundUp(before_bytes, segment.page_bytes);
  uint64_t end = segment.address +
                 (before_bytes + blocks_[id].bytes) / segment.page_bytes * segment.page_bytes;
  if (end <= begin) return;
  id = carve(id, begin, end - begin);
  remove(id);
  blocks_[id].is_mapped = false;
  merge(id, blocks_[id].prev);
  merge(id, blocks_[id].next);
  insert(id);
  const Block block = blocks_[id];
  reserved(block, minus(end - begin));
  write(Action::kSegmentUnmap, begin, end - begin, block.stream, block.owner);
  if (block.isSplit()) return;
  remove(id);  // nothing is mapped there any more
  driver_->unreserve(segment.address, segment.bytes);
  dropSegment(segment_id, block.owner);
  blocks_.remove(id);
}

}  // namespace tidegauge::replay
