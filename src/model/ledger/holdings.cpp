// What the ledger's calls come down to: rows that begin and end, sums that follow them.
#include <algorithm>

#include "model/ledger/ledger.h"

namespace tidegauge::model {

void ProcessLedger::addTo(int32_t device, MemoryKind kind, uint64_t bytes) {
  live_bytes_ += bytes;
  forSums(device, kind, [&](MemorySum& sum) {
    sum.bytes += bytes;
    sum.peak_bytes = std::max(sum.peak_bytes, sum.bytes);
    ++sum.live;
    ++sum.allocations;
  });
}

void ProcessLedger::takeFrom(int32_t device, MemoryKind kind, uint64_t bytes, Cause cause) {
  live_bytes_ -= bytes;
  forSums(device, kind, [&](MemorySum& sum) {
    sum.bytes -= bytes;
    --sum.live;
    ++(cause == Cause::kCall       ? sum.frees
       : cause == Cause::kImplicit ? sum.implicit_frees
                                   : sum.missed_frees);
  });
}

void ProcessLedger::tell(What what, Cause cause, const MemoryCall& call, const Effect& rest) {
  if (!sink_) return;
  Effect effect = rest;
  effect.what = what;
  effect.cause = cause;
  effect.time_ns = call.end_ns;
  effect.since_ns = is_carrying_ ? call.start_ns : call.end_ns;
  effect.process = process_;
  if (what == What::kMapped || what == What::kUnmapped) effect.kind = MemoryKind::kPhysical;
  if (what == What::kBlock || what == What::kBlockFreed) effect.kind = MemoryKind::kBlock;
  if (what == What::kAnswered) effect.kind = MemoryKind::kAnswer;
  if (what == What::kFailure) {
    effect.kind = call.kind;
    effect.code = call.code;
  }
  effect.plane = call.plane;
  effect.thread = call.thread;
  effect.stack = call.stack;
  effect.function = call.function;
  effect.is_carried = is_carrying_;
  sink_(effect);
}

ProcessLedger::Owner ProcessLedger::ownerOf(uint32_t row) const {
  const Holding& holding = holdings_[row];
  bool outlives = holding.kind == MemoryKind::kPhysical || holding.kind == MemoryKind::kPool;
  return {holding.device, outlives ? kNoContext : holding.context, row};
}

uint32_t ProcessLedger::addHolding(const MemoryCall& call, uint64_t address, Cause cause) {
  uint32_t row = 0;
  if (free_rows_.empty()) {
    row = static_cast<uint32_t>(holdings_.size());
    holdings_.emplace_back();
  } else {
    row = free_rows_.back();
    free_rows_.pop_back();
  }
  Where where = contexts_.where(call);
  bool outlives = call.kind == MemoryKind::kPhysical || call.kind == MemoryKind::kPool;
  if (is_carrying_) where = {call.device, outlives ? 0 : call.offset};
  Holding& holding = holdings_[row];
  holding = {};
  holding.address = address;
  holding.size_bytes = call.size_bytes;
  holding.stream = call.stream;
  holding.pool = call.kind == MemoryKind::kPool ? call.handle : 0;
  holding.context = where.context;
  holding.place = next_place_++;
  holding.since_ns = is_carrying_ ? call.start_ns : call.end_ns;
  holding.thread = call.thread;
  holding.stack = call.stack;
  holding.device = where.device;
  holding.function = call.function;
  holding.kind = call.kind;
  holding.plane = call.plane;
  by_owner_.insert(ownerOf(row));
  if (call.plane == Plane::kRuntime && !is_carrying_) ++counts_.charged_at_runtime;
  addTo(where.device, call.kind, call.size_bytes);
  if (is_carrying_) {
    holding.of_framework = call.inner == 1;
    holding.block_stream = call.stream;
    forSums(where.device, call.kind, [](MemorySum& sum) { --sum.allocations; });
  }
  if (call.kind == MemoryKind::kPool) {
    PoolSum& pool =
        pools_.try_emplace({holding.pool, where.device}, PoolSum{where.device, 0, 0}).first->second;
    pool.used_bytes += call.size_bytes;
    pool.most_used_bytes = std::max(pool.most_used_bytes, pool.used_bytes);
  }
  Effect effect;
  effect.address = address;
  effect.size_bytes = call.size_bytes;
  effect.stream = call.stream;
  effect.pool = holding.pool;
  effect.place = holding.place;
  effect.device = where.device;
  effect.kind = call.kind;
  effect.of_framework = holding.of_framework;
  tell(What::kReserved, cause, call, effect);
  return row;
}

void ProcessLedger::endHolding(uint32_t row, const MemoryCall& call, Cause cause) {
  Holding holding = holdings_[row];
  if (holding.kind == MemoryKind::kArray) {
    arrays_.erase(holding.address);
  } else if (holding.kind != MemoryKind::kPhysical) {
    // A framework gives back only what it does not use: frees of blocks inside went unseen.
    Cause why = cause == Cause::kImplicit ? Cause::kImplicit : Cause::kMissed;
    endBlocks(holding.address, holding.address + holding.size_bytes, call, why);
    by_address_.erase(holding.address);
    if (freed_.size() < kMostFreed) freed_.insert(holding.address);
  }
  by_owner_.erase(ownerOf(row));
  holdings_[row] = {};
  free_rows_.push_back(row);
  takeFrom(holding.device, holding.kind, holding.size_bytes, cause);
  if (holding.kind == MemoryKind::kPool) {
    // The device may have become known since: the pool is the one that it was charged to.
    auto pool = pools_.find({holding.pool, holding.device});
    if (pool != pools_.end()) pool->second.used_bytes -= holding.size_bytes;
  }
  Effect effect;
  effect.address = holding.address;
  effect.size_bytes = holding.size_bytes;
  effect.stream = holding.stream;
  effect.pool = holding.pool;
  effect.place = holding.place;
  effect.device = holding.device;
  effect.kind = holding.kind;
  tell(What::kReturned, cause, call, effect);
}

// Whatever is still live where new memory is handed out was freed unseen.
void ProcessLedger::endOverlapping(uint64_t begin, uint64_t end, const MemoryCall& call) {
  auto at = by_address_.upper_bound(begin);
  if (at != by_address_.begin()) {
    const Holding& before = holdings_[std::prev(at)->second];
    if (before.address + before.size_bytes > begin) --at;
  }
  while (at != by_address_.end() && at->first < end) {
    uint32_t row = at->second;
    ++at;
    endHolding(row, call, Cause::kMissed);
  }
}

ProcessLedger::Blocks::iterator ProcessLedger::endBlock(Blocks::iterator at, const MemoryCall& call,
                                                        Cause cause) {
  const Block& block = at->second;
  takeFrom(block.device, MemoryKind::kBlock, block.size_bytes, cause);
  Effect effect;
  effect.address = at->first;
  effect.size_bytes = block.size_bytes;
  effect.stream = block.stream;
  effect.place = block.place;
  effect.device = block.device;
  tell(What::kBlockFreed, cause, call, effect);
  if (freed_blocks_.size() < kMostFreed) freed_blocks_.insert(at->first);
  return blocks_.erase(at);
}

void ProcessLedger::endBlocks(uint64_t begin, uint64_t end, const MemoryCall& call, Cause cause) {
  auto at = blocks_.upper_bound(begin);
  if (at != blocks_.begin()) {
    auto before = std::prev(at);
    if (before->first + before->second.size_bytes > begin) at = before;
  }
  while (at != blocks_.end() && at->first < end) at = endBlock(at, call, cause);
}

// The place that a block lies in, and what the block tells about its device.
uint64_t ProcessLedger::placeOf(uint64_t address, int32_t device, const MemoryCall& call) {
  auto at = by_address_.upper_bound(address);
  if (at != by_address_.begin()) {
    uint32_t row = std::prev(at)->second;
    const Holding& holding = holdings_[row];
    if (holding.address + holding.size_bytes > address) {
      if (holding.device < 0 && device >= 0) learnDevice(row, device, call);
      return holdings_[row].place;
    }
  }
  auto mapped = mappings_.upper_bound(address);
  if (mapped == mappings_.begin()) return 0;
  Mapping& mapping = std::prev(mapped)->second;
  if (mapping.end <= address) return 0;
  if (mapping.device < 0 && device >= 0) {
    mapping.device = device;
    if (!mapping.is_alias && holdings_[mapping.holding].device < 0) {
      learnDevice(mapping.holding, device, call);
    }
    Effect effect;
    effect.device = device;
    effect.place = mapping.place;
    effect.kind = MemoryKind::kPhysical;
    tell(What::kPlaced, Cause::kCall, call, effect);
  }
  framework_places_.try_emplace(mapping.place, call.stream);
  return mapping.place;
}

void ProcessLedger::learnDevice(uint32_t row, int32_t device, const MemoryCall& call) {
  Holding& holding = holdings_[row];
  live_bytes_ -= holding.size_bytes;
  forSums(holding.device, holding.kind, [&](MemorySum& sum) {
    sum.bytes -= holding.size_bytes;
    --sum.live;
    --sum.allocations;
  });
  if (holding.kind == MemoryKind::kPool) {
    pools_[{holding.pool, holding.device}].used_bytes -= holding.size_bytes;
    PoolSum& pool = pools_.try_emplace({holding.pool, device}, PoolSum{device, 0, 0}).first->second;
    pool.used_bytes += holding.size_bytes;
    pool.most_used_bytes = std::max(pool.most_used_bytes, pool.used_bytes);
  }
  by_owner_.erase(ownerOf(row));
  holding.device = device;
  by_owner_.insert(ownerOf(row));
  addTo(device, holding.kind, holding.size_bytes);
  Effect effect;
  effect.size_bytes = holding.size_bytes;
  effect.device = device;
  effect.place = holding.place;
  effect.kind = holding.kind;
  tell(What::kPlaced, Cause::kCall, call, effect);
}

std::vector<LiveRange> ProcessLedger::liveRanges() const {
  std::vector<LiveRange> ranges;
  ranges.reserve(by_address_.size() + mappings_.size());
  for (const auto& [address, row] : by_address_) {
    const Holding& it = holdings_[row];
    if (isDeviceMemory(it.kind))
      ranges.push_back({address, it.size_bytes, it.device, it.of_framework});
  }
  auto held = static_cast<std::ptrdiff_t>(ranges.size());
  uint64_t place = 0;  // of the last mapping
  for (const auto& [address, mapping] : mappings_) {
    if (mapping.is_alias) continue;
    bool touches = static_cast<std::ptrdiff_t>(ranges.size()) > held && mapping.place == place &&
                   ranges.back().address + ranges.back().size_bytes == address;
    place = mapping.place;
    auto block = blocks_.lower_bound(address);
    bool holds = block != blocks_.end() && block->first < mapping.end;
    if (touches) {
      ranges.back().size_bytes += mapping.end - address;
      ranges.back().of_framework |= holds;
    } else {
      ranges.push_back({address, mapping.end - address, mapping.device, holds});
    }
  }
  std::inplace_merge(ranges.begin(), ranges.begin() + held, ranges.end(),
                     [](const auto& a, const auto& b) { return a.address < b.address; });
  return ranges;
}

std::vector<LiveRange> ProcessLedger::liveBlocks() const {
  std::vector<LiveRange> blocks;
  blocks.reserve(blocks_.size());
  for (const auto& [address, block] : blocks_)
    blocks.push_back({address, block.size_bytes, block.device, true});
  return blocks;
}

}  // namespace tidegauge::model
