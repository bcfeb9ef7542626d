#include "analysis/layout/free_blocks.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/layout/free_sums.h"
#include "model/block_size.h"

namespace tidegauge::analysis {
namespace {

using model::kUnknownBytes;

uint64_t saturated(uint64_t a, uint64_t b) { return a > kUnknownBytes - b ? kUnknownBytes : a + b; }

class Collector {
 public:
  Collector(const model::Trace& trace, FreeBlocks& free) : trace_(trace), free_(free) {}

  void add(const SegmentContents& contents) {
    if (!contents.segment.valid()) return;
    size_t row = contents.segment.index();
    const model::Segments& segments = trace_.segments;
    bool pool_known = segments.pool[row].valid();
    FreeListKey key{segments.small_pool[row], pool_known ? segments.pool[row] : model::PoolId(0),
                    segments.stream[row]};
    FreeList& list = lists_.try_emplace(key, FreeList{.key = key}).first->second;
    list.segments++;
    bool expandable = isExpandable(trace_, contents.segment);
    bool any_live = std::any_of(contents.blocks.begin(), contents.blocks.end(), isLive);
    ExpandableRun run{key, contents.blocks.front().address, {0}};
    for (size_t i = 0; i < contents.blocks.size(); ++i) {
      const LayoutBlock& block = contents.blocks[i];
      uint64_t bytes = contents.bytesOf(i);
      bool last = i + 1 == contents.blocks.size();
      uint64_t end = block.address + bytes;
      uint64_t unmapped = !expandable ? 0
                          : last      ? kUnknownBytes
                                      : contents.blocks[i + 1].address - end;
      list.reserved_bytes += bytes;
      if (!pool_known) free_.unknown_pool_bytes += bytes;
      if (isLive(block)) {
        list.live_bytes += bytes;
        close(run, end);
      } else {
        list.blocks.push_back({contents.segment, block.address, bytes, saturated(bytes, unmapped),
                               expandable, !any_live});
        list.bytes += bytes;
        run.parts_bytes.back() += bytes;
      }
      if (unmapped > 0) run.parts_bytes.insert(run.parts_bytes.end(), {unmapped, 0});
    }
    if (expandable) close(run, 0);
  }

  void finish() {
    for (auto& [key, list] : lists_) {
      std::sort(list.blocks.begin(), list.blocks.end(), [](const FreeBlock& a, const FreeBlock& b) {
        return std::tie(a.size_bytes, a.address) < std::tie(b.size_bytes, b.address);
      });
      choose(list);
      free_.bytes += list.bytes;
      free_.count += list.blocks.size();
      free_.largest_bytes = std::max(free_.largest_bytes, list.largestBytes());
      free_.lists.push_back(std::move(list));
    }
    std::sort(free_.runs.begin(), free_.runs.end(),
              [](const ExpandableRun& a, const ExpandableRun& b) {
                return std::tie(a.key, a.address) < std::tie(b.key, b.address);
              });
  }

 private:
  // Best fit continues after the smallest block that is large enough. With expandable segments, it
  // prefers a slightly larger hole to an end that can still grow; without them, it skips the blocks
  // of expandable segments.
  void choose(FreeList& list) const {
    size_t count = list.blocks.size();
    list.chosen.resize(count);
    for (size_t i = count; i-- > 0;) {
      const FreeBlock& block = list.blocks[i];
      bool goes_on = block.expandable &&
                     (!free_.rules.expandable ||
                      (i + 1 < count && list.blocks[i + 1].growable_bytes < block.growable_bytes));
      list.chosen[i] = static_cast<uint32_t>(!goes_on        ? i
                                             : i + 1 < count ? list.chosen[i + 1]
                                                             : count);
    }
  }

  // Keeps the run if part of it is unmapped, and begins the next one.
  void close(ExpandableRun& run, uint64_t next_address) {
    if (run.parts_bytes.size() > 1) free_.runs.push_back(run);
    run.address = next_address;
    run.parts_bytes.assign(1, 0);
  }

  const model::Trace& trace_;
  FreeBlocks& free_;
  std::map<FreeListKey, FreeList> lists_;
};

// Bytes of pages that serving the request from the run would map; kUnknownBytes if the run is too
// short.
uint64_t mappedBytes(const ExpandableRun& run, uint64_t rounded_bytes, uint64_t page_bytes) {
  uint64_t have = 0;
  uint64_t mapped = 0;
  for (size_t i = 0; i < run.parts_bytes.size() && have < rounded_bytes; ++i) {
    uint64_t part = run.parts_bytes[i];
    if (i % 2 == 1) {  // unmapped
      uint64_t lacking = rounded_bytes - have;
      uint64_t pages = lacking / page_bytes + (lacking % page_bytes != 0);
      part = std::min(part, pages * page_bytes);
      mapped += part;
    }
    have = saturated(have, part);
  }
  return have >= rounded_bytes ? mapped : kUnknownBytes;
}

}  // namespace

const FreeList* FreeBlocks::find(const FreeListKey& key) const {
  auto found = std::partition_point(lists.begin(), lists.end(),
                                    [&](const FreeList& list) { return list.key < key; });
  return found != lists.end() && found->key == key ? &*found : nullptr;
}

FreeBlocks freeBlocks(const model::Trace& trace, const SegmentedLayout& layout) {
  FreeBlocks free{rulesOf(trace)};
  Collector collector(trace, free);
  for (const SegmentContents& contents : layout.segments()) collector.add(contents);
  collector.finish();
  return free;
}

FreeBlocks freeBlocksAt(const AnalysedTrace& analysed, const DeviceAnalysis& device, Step step) {
  return freeBlocks(analysed.trace,
                    SegmentedLayout(blocksAt(analysed.trace, device.device, device.live, step)));
}

const FreeBlock* fit(const AllocatorRules& rules, const FreeList& list, uint64_t request_bytes) {
  uint64_t rounded = rules.roundedBytes(request_bytes);
  if (rules.isSmall(rounded) != list.key.small) return nullptr;
  auto block =
      std::partition_point(list.blocks.begin(), list.blocks.end(),
                           [&](const FreeBlock& free) { return free.size_bytes < rounded; });
  if (block == list.blocks.end()) return nullptr;
  size_t chosen = list.chosen[static_cast<size_t>(block - list.blocks.begin())];
  if (chosen == list.blocks.size()) return nullptr;
  return rules.allows(rounded, list.blocks[chosen].size_bytes) ? &list.blocks[chosen] : nullptr;
}

const FreeBlock* fit(const FreeBlocks& free, uint64_t request_bytes, model::PoolId pool,
                     model::StreamId stream) {
  const FreeList* list = free.find(free.keyFor(request_bytes, pool, stream));
  return list == nullptr ? nullptr : fit(free.rules, *list, request_bytes);
}

uint64_t largestRequest(const AllocatorRules& rules, const FreeList& list) {
  uint64_t last = 0;
  // Usually the largest block serves the largest request; the oversize rules may forbid it.
  for (auto block = list.blocks.rbegin(); block != list.blocks.rend(); ++block) {
    uint64_t bytes = block->size_bytes;
    if (list.key.small) bytes = std::min(bytes, model::kSmallRequestBytes);
    if (bytes == last) continue;
    last = bytes;
    uint64_t request = rules.largestRequest(bytes);
    if (request > 0 && fit(rules, list, request) != nullptr) return request;
  }
  return 0;
}

uint64_t driverBytes(const FreeBlocks& free, uint64_t request_bytes, model::PoolId pool,
                     model::StreamId stream) {
  uint64_t rounded = free.rules.roundedBytes(request_bytes);
  if (rounded > model::kMaxRequestBytes) return rounded;
  FreeListKey key{free.rules.isSmall(rounded), pool, stream};
  auto run = std::partition_point(free.runs.begin(), free.runs.end(),
                                  [&](const ExpandableRun& r) { return r.key < key; });
  // PyTorch up to 2.5 gives private pools ordinary segments, whatever the setting is.
  const FreeList* list = free.find(key);
  bool ordinary_pool = pool != model::PoolId(0) && list != nullptr && list->segments > 0 &&
                       (run == free.runs.end() || run->key != key);
  if (!free.rules.expandable || ordinary_pool) return free.rules.segmentBytes(rounded);
  uint64_t page = free.rules.pageBytes(key.small);
  for (; run != free.runs.end() && run->key == key; ++run) {
    uint64_t mapped = mappedBytes(*run, rounded, page);
    if (mapped != kUnknownBytes) return mapped;
  }
  return (rounded + page - 1) / page * page;  // a new reservation
}

uint64_t strandedBytes(const FreeBlocks& free, uint64_t request_bytes) {
  uint64_t stranded = 0;
  for (const FreeList& list : free.lists) {
    for (const FreeBlock& block : list.blocks) {
      stranded += strandedBytes(block.size_bytes, request_bytes);
    }
  }
  return stranded;
}

}  // namespace tidegauge::analysis
