// What is live when one part of a recording ends and the next begins, as calls with which the next
// begins; and those calls, taken by the ledger that reads the part. Nothing is counted as handed
// out by them.
//
//   part 1  … cudaMalloc 0x7f00 at 10:00 …           ─► carried: allocate 0x7f00, start_ns = 10:00,
//   part 2  carried rows, then the calls since 10:07      end_ns = 10:07, device, stack, context
//
// A carried call has the verb, kind and plane of the call that makes such a thing, and beside it:
//
//   start_ns  when it came                      inner   memory, mapping: 1 = the framework has
//   offset    memory: its context; physical             placed blocks in it; pool: 1 = destroyed;
//             memory: handles that lead to it;          block: 1 = outside
//             alias: how often it is open       address physical memory: a key, by which a mapping
//                                                       (its handle) and another handle (retain)
//                                                       name it
//   size      primary context: references. A mapping with handle 0 is an alias. A pool follows its
//             memory: offset = used, stream = the most that was used
//
// Addresses that were freed are not carried: a second free of one is of older memory in the next
// part. Cost: O(live).
#include <algorithm>

#include "model/ledger/ledger.h"

namespace tidegauge::model {
namespace {

MemoryCall carriedCall(Plane plane, Verb verb, MemoryKind kind) {
  MemoryCall call;
  call.plane = plane;
  call.verb = verb;
  call.kind = kind;
  call.function = UINT16_MAX;
  return call;
}

constexpr size_t kMaxCarriedContexts = 64;
constexpr uint64_t kMaxReferences = uint64_t{1} << 32;

uint64_t referencesOf(uint64_t value) { return std::clamp<uint64_t>(value, 1, kMaxReferences); }

}  // namespace

// ---- out

std::vector<MemoryCall> Contexts::carried() const {
  std::vector<MemoryCall> calls;
  for (const auto& [handle, context] : contexts_) {
    MemoryCall call = carriedCall(
        Plane::kDriver, context.is_primary ? Verb::kRetain : Verb::kCreate, MemoryKind::kContext);
    call.handle = handle;
    call.device = context.device;
    call.size_bytes = context.references;
    calls.push_back(call);
  }
  for (const auto& [thread, it] : threads_) {
    if (it.device >= 0) {
      MemoryCall call = carriedCall(Plane::kRuntime, Verb::kSet, MemoryKind::kDevice);
      call.thread = thread;
      call.handle = static_cast<uint64_t>(it.device);
      calls.push_back(call);
    }
    for (uint64_t context : it.current) {
      MemoryCall call = carriedCall(Plane::kDriver, Verb::kPush, MemoryKind::kContext);
      call.thread = thread;
      call.handle = context;
      calls.push_back(call);
    }
  }
  if (sees_switches_)
    calls.push_back(carriedCall(Plane::kDriver, Verb::kPop, MemoryKind::kContext));
  return calls;
}

void ProcessLedger::addCarriedHandles(std::vector<MemoryCall>& calls) const {
  auto carry = [&](Verb verb, MemoryKind kind) {
    return [&calls, verb, kind](uint64_t handle, int32_t device) {
      MemoryCall call = carriedCall(Plane::kDriver, verb, kind);
      call.handle = handle;
      call.device = device;
      calls.push_back(call);
    };
  };
  handles_.forEachStream(carry(Verb::kCreate, MemoryKind::kStream));
  handles_.forEachPool(carry(Verb::kRetain, MemoryKind::kPoolItself));
}

void ProcessLedger::addCarriedHoldings(std::vector<MemoryCall>& calls) const {
  for (const Holding& it : holdings_) {
    if (it.place == 0) continue;
    MemoryCall call = carriedCall(it.plane, Verb::kAllocate, it.kind);
    call.start_ns = it.since_ns;
    call.address = it.address;
    call.size_bytes = it.size_bytes;
    call.stream = it.of_framework ? it.block_stream : it.stream;
    call.handle = it.pool;
    call.offset = it.context;
    call.thread = it.thread;
    call.device = it.device;
    call.stack = it.stack;
    call.function = it.function;
    call.inner = it.of_framework ? 1 : 0;
    if (it.kind == MemoryKind::kArray) call.handle = it.address;
    if (it.kind == MemoryKind::kPhysical) {
      call.address = it.place;
      call.offset = it.references;
    }
    calls.push_back(call);
  }
  for (const auto& [handle, held] : physical_.by_handle) {
    if (holdings_[held.row].place != held.place) continue;
    MemoryCall call = carriedCall(Plane::kDriver, Verb::kRetain, MemoryKind::kPhysical);
    call.address = held.place;
    call.handle = handle;
    calls.push_back(call);
  }
}

void ProcessLedger::addCarriedMappings(std::vector<MemoryCall>& calls) const {
  for (const auto& [address, range] : physical_.reservations) {
    MemoryCall call = carriedCall(Plane::kDriver, Verb::kAllocate, MemoryKind::kAddressRange);
    call.address = address;
    call.size_bytes = range.end - address;
    calls.push_back(call);
  }
  for (const auto& [address, it] : physical_.mappings) {
    MemoryCall call = carriedCall(Plane::kDriver, Verb::kMap, MemoryKind::kPhysical);
    call.address = address;
    call.size_bytes = it.end - address;
    call.handle = it.is_alias ? 0 : holdings_[it.holding].place;
    call.device = it.device;
    call.stack = it.stack;
    if (!it.is_alias) call.start_ns = holdings_[it.holding].since_ns;
    if (auto used = physical_.framework_places.find(it.place);
        used != physical_.framework_places.end()) {
      call.inner = 1;
      call.stream = used->second;
    }
    calls.push_back(call);
  }
}

std::vector<MemoryCall> ProcessLedger::carried() const {
  std::vector<MemoryCall> calls = contexts_.carried();
  addCarriedHandles(calls);
  addCarriedHoldings(calls);
  for (const auto& [key, pool] : pools_) {
    MemoryCall call = carriedCall(Plane::kDriver, Verb::kCreate, MemoryKind::kPoolItself);
    call.handle = key.first;
    call.device = key.second;
    call.offset = pool.used_bytes;
    call.stream = pool.most_used_bytes;
    call.inner = pool.is_destroyed ? 1 : 0;
    calls.push_back(call);
  }
  addCarriedMappings(calls);
  for (const auto& [key, count] : aliases_) {
    MemoryCall call = carriedCall(Plane::kDriver, Verb::kAllocate, MemoryKind::kAlias);
    call.address = key;
    call.offset = count;
    calls.push_back(call);
  }
  for (const auto& [address, promise] : promises_) {
    MemoryCall call = carriedCall(Plane::kDriver, Verb::kAllocate, MemoryKind::kGraph);
    call.address = address;
    call.size_bytes = promise.size_bytes;
    call.device = promise.device;
    calls.push_back(call);
  }
  for (const auto& [address, block] : blocks_) {
    MemoryCall call = carriedCall(Plane::kFramework, Verb::kAllocate, MemoryKind::kBlock);
    call.start_ns = block.since_ns;
    call.address = address;
    call.size_bytes = block.size_bytes;
    call.stream = block.stream;
    call.device = block.device;
    call.stack = block.stack;
    call.thread = block.thread;
    call.inner = block.place == 0 ? 1 : 0;
    calls.push_back(call);
  }
  for (MemoryCall& call : calls) call.process = process_;
  return calls;
}

// ---- in

void Contexts::carry(const MemoryCall& call) {
  std::vector<uint64_t>* current = nullptr;
  switch (call.verb) {
    case Verb::kCreate:
      add(call.handle, {call.device, false, 1});
      return;
    case Verb::kRetain:
      add(call.handle, {call.device, true, referencesOf(call.size_bytes)});
      return;
    case Verb::kSet:
      if (call.handle < static_cast<uint64_t>(kMaxDevices))
        threads_[call.thread].device = static_cast<int32_t>(call.handle);
      return;
    case Verb::kPush:
      current = &threads_[call.thread].current;
      if (current->size() < kMaxCarriedContexts) current->push_back(call.handle);
      return;
    case Verb::kPop:
      sees_switches_ = true;
      return;
    default:
      return;
  }
}

void ProcessLedger::carry(const MemoryCall& call) {
  if (call.kind == MemoryKind::kContext || call.verb == Verb::kSet) {
    contexts_.carry(call);
    return;
  }
  switch (call.kind) {
    case MemoryKind::kStream:
      handles_.addStream(call.handle, call.device, 0);
      return;
    case MemoryKind::kPoolItself: {  // what is used of it came before, block by block
      if (call.verb == Verb::kRetain) {
        handles_.addPool(call.handle, call.device, 0);
        return;
      }
      PoolSum& pool =
          pools_.try_emplace({call.handle, call.device}, PoolSum{call.device}).first->second;
      pool.most_used_bytes = std::max(pool.used_bytes, std::min(call.stream, kMaxProcessBytes));
      pool.is_destroyed = call.inner == 1;
      return;
    }
    case MemoryKind::kPhysical:
      carryPhysical(call);
      return;
    default:
      break;
  }
  if (call.verb != Verb::kAllocate) {
    ++counts_.impossible;
    return;
  }
  switch (call.kind) {
    case MemoryKind::kAddressRange:
      onAddressRange(call);
      return;
    case MemoryKind::kAlias:
      aliases_[call.address] += referencesOf(call.offset);
      return;
    case MemoryKind::kGraph:
      if (!promises_.try_emplace(call.address, Promise{call.size_bytes, call.device}).second)
        return;
      addTo(call.device, MemoryKind::kGraph, call.size_bytes);
      return;
    case MemoryKind::kBlock:
      carryBlock(call);
      return;
    default:
      break;
  }
  if (call.address == 0 || call.size_bytes == 0 || call.kind == MemoryKind::kAnswer) {
    ++counts_.impossible;
  } else if (call.kind == MemoryKind::kArray) {
    if (auto known = arrays_.find(call.address); known != arrays_.end())
      endHolding(known->second, call, Cause::kMissed);
    arrays_[call.address] = addHolding(call, call.address, Cause::kCall);
  } else {
    clearRange(call);
    by_address_[call.address] = addHolding(call, call.address, Cause::kCall);
  }
}

void ProcessLedger::carryPhysical(const MemoryCall& call) {
  if (call.verb == Verb::kMap) {
    carryMapping(call);
    return;
  }
  auto known = physical_.carried.find(call.address);
  if (call.verb == Verb::kRetain && known != physical_.carried.end()) {
    physical_.by_handle[call.handle] = known->second;
  } else if (call.verb == Verb::kAllocate && known == physical_.carried.end() &&
             call.size_bytes > 0) {
    uint32_t row = addHolding(call, 0, Cause::kCall);
    holdings_[row].references = std::min(call.offset, kMaxReferences);
    physical_.carried[call.address] = {row, holdings_[row].place};
  } else {
    ++counts_.impossible;
  }
}

void ProcessLedger::carryMapping(const MemoryCall& call) {
  bool is_alias = call.handle == 0;
  std::optional<uint32_t> row;
  auto known = physical_.carried.find(call.handle);
  if (!is_alias && known != physical_.carried.end() &&
      holdings_[known->second.row].place == known->second.place)
    row = known->second.row;
  if (call.size_bytes == 0 || (!is_alias && !row)) {
    ++counts_.impossible;
    return;
  }
  if (row) ++holdings_[*row].references;  // so that it does not go with what is mapped here
  clearRange(call);
  if (row) --holdings_[*row].references;
  addMapping(call, call.device, row);
}

void ProcessLedger::carryBlock(const MemoryCall& call) {
  if (call.address == 0 || call.size_bytes == 0) {
    ++counts_.impossible;
    return;
  }
  onBlock(call);
  blocks_.at(call.address).since_ns = call.start_ns;
}

}  // namespace tidegauge::model
