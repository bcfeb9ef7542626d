// What the ledger's calls come down to: rows that begin and end, sums that follow them.
#include <algorithm>

#include "model/ledger/ledger.h"

namespace tidegauge::model {

void ProcessLedger::addTo(int32_t device, MemoryKind kind, uint64_t bytes) {
  if (is_carrying_)
    sums_.addCarried(device, kind, bytes);
  else
    sums_.add(device, kind, bytes);
}

void ProcessLedger::tell(What what, Cause cause, const MemoryCall& call, const Effect& rest) {
  if (!sink_) return;
  Effect effect = rest;
  effect.what = what;
  effect.cause = cause;
  effect.time_ns = call.end_ns;
  effect.since_ns = is_carrying_ ? call.start_ns : call.end_ns;
  effect.latest_ns = is_carrying_ ? call.end_ns : call.returned_ns();
  if (effect.earliest_ns == 0) effect.earliest_ns = is_carrying_ ? call.end_ns : call.start_ns;
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

uint32_t ProcessLedger::addHolding(const MemoryCall& call, uint64_t address, Cause cause) {
  Where where = this->where(call);
  if (is_carrying_) where = {call.device, outlivesContext(call.kind) ? 0 : call.offset};
  Holding fresh;
  fresh.address = address;
  fresh.size_bytes = call.size_bytes;
  fresh.stream = call.stream;
  fresh.pool = call.kind == MemoryKind::kPool ? call.handle : 0;
  fresh.context = where.context;
  fresh.since_ns = is_carrying_ ? call.start_ns : call.end_ns;
  fresh.thread = call.thread;
  fresh.stack = call.stack;
  fresh.device = where.device;
  fresh.function = call.function;
  fresh.kind = call.kind;
  fresh.plane = call.plane;
  if (is_carrying_) {
    fresh.of_framework = call.inner == 1;
    fresh.block_stream = call.stream;
  }
  uint32_t row = holdings_.add(fresh);
  const Holding& holding = holdings_[row];
  if (call.plane == Plane::kRuntime && !is_carrying_) ++counts_.charged_at_runtime;
  addTo(where.device, call.kind, call.size_bytes);
  if (call.kind == MemoryKind::kPool) usePool(holding.pool, where.device, call.size_bytes);
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
    // A framework returns only unused memory, so frees of blocks inside were not seen.
    Cause why = cause == Cause::kImplicit ? Cause::kImplicit : Cause::kMissed;
    endBlocks(holding.address, holding.address + holding.size_bytes, call, why);
    by_address_.erase(holding.address);
    freed_.add(holding.address);
  }
  bool is_overtaken = cause == Cause::kMissed && !is_carrying_ &&
                      (call.verb == Verb::kAllocate || call.verb == Verb::kMap);
  if (is_overtaken && holding.kind != MemoryKind::kPhysical)
    overtaken_.add(holding.address, {holding.since_ns, call.end_ns, holding.device, holding.kind});
  holdings_.remove(row);
  sums_.take(holding.device, holding.kind, holding.size_bytes, cause);
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
  if (cause == Cause::kMissed) effect.earliest_ns = holding.since_ns;
  tell(What::kReturned, cause, call, effect);
}

// True: what the call frees has ended already, because its place was handed out again before the
// call returned.
bool ProcessLedger::freesOvertaken(uint64_t place, const MemoryCall& call) {
  std::optional<OvertakenMemory> memory = overtaken_.take(place, call.kind, call.start_ns);
  if (!memory) return false;
  if (!memory->has_ended) return true;
  sums_.findFree(memory->device, memory->kind);
  Effect effect;
  effect.address = place;
  effect.device = memory->device;
  effect.kind = memory->kind;
  tell(What::kFreeFound, Cause::kCall, call, effect);
  return true;
}

void ProcessLedger::usePool(uint64_t handle, int32_t device, uint64_t bytes) {
  PoolSum& pool = pools_.try_emplace({handle, device}, PoolSum{device, 0, 0}).first->second;
  pool.used_bytes += bytes;
  pool.most_used_bytes = std::max(pool.most_used_bytes, pool.used_bytes);
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

FrameworkBlocks::iterator ProcessLedger::endBlock(FrameworkBlocks::iterator at,
                                                  const MemoryCall& call, Cause cause) {
  const FrameworkBlock& block = at->second;
  sums_.take(block.device, MemoryKind::kBlock, block.size_bytes, cause);
  Effect effect;
  effect.address = at->first;
  effect.size_bytes = block.size_bytes;
  effect.stream = block.stream;
  effect.place = block.place;
  effect.device = block.device;
  tell(What::kBlockFreed, cause, call, effect);
  freed_blocks_.add(at->first);
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

// The place that a block lies in; the block's device becomes that of the place if it has none.
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
  auto mapped = physical_.mappings.upper_bound(address);
  if (mapped == physical_.mappings.begin()) return 0;
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
  physical_.framework_places.try_emplace(mapping.place, call.stream);
  return mapping.place;
}

void ProcessLedger::learnDevice(uint32_t row, int32_t device, const MemoryCall& call) {
  Holding& holding = holdings_[row];
  sums_.move(holding.device, device, holding.kind, holding.size_bytes);
  if (holding.kind == MemoryKind::kPool) {
    pools_[{holding.pool, holding.device}].used_bytes -= holding.size_bytes;
    usePool(holding.pool, device, holding.size_bytes);
  }
  holdings_.setDevice(row, device);
  Effect effect;
  effect.size_bytes = holding.size_bytes;
  effect.device = device;
  effect.place = holding.place;
  effect.kind = holding.kind;
  tell(What::kPlaced, Cause::kCall, call, effect);
}

}  // namespace tidegauge::model
