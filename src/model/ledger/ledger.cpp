#include "model/ledger/ledger.h"

#include <algorithm>

#include "base/sizes.h"

namespace tidegauge::model {
namespace {

// Found again by address, so a runtime call and the driver call inside it count as one.
bool hasAddress(MemoryKind kind) {
  return kind == MemoryKind::kDevice || kind == MemoryKind::kManaged ||
         kind == MemoryKind::kPinnedHost || kind == MemoryKind::kRegisteredHost ||
         kind == MemoryKind::kPool;
}

}  // namespace

bool ProcessLedger::isPossible(const MemoryCall& call) const {
  if (call.verb == Verb::kTrim) return true;  // "keep everything" is a size, too
  if (call.size_bytes > base::kMaxSizeBytes || call.address > UINT64_MAX - call.size_bytes)
    return false;
  if (call.verb == Verb::kMap) return call.size_bytes <= kMaxProcessBytes - physical_.mapped_bytes;
  return call.verb != Verb::kAllocate || call.size_bytes <= kMaxProcessBytes - sums_.liveBytes();
}

void ProcessLedger::addWithoutAddress(uint64_t size_bytes) {
  ++counts_.without_address;
  counts_.bytes_without_address =
      std::min(kMaxProcessBytes, counts_.bytes_without_address + size_bytes);
}

void ProcessLedger::take(const MemoryCall& call) {
  if (call.kind == MemoryKind::kAnswer) {
    tellAnswer(call);
  } else if (call.plane == Plane::kRuntime) {
    takeRuntime(call);
  } else {
    apply(call);
  }
}

void ProcessLedger::takeRuntime(const MemoryCall& call) {
  bool driver_seen = call.inner > 0;
  if (call.code != 0) {
    // The driver's own failure inside it is counted already.
    auto failed = failures_.last.find(call.thread);
    bool is_counted =
        driver_seen && failed != failures_.last.end() && failed->second >= call.start_ns;
    if (!is_counted) fail(call);
    return;
  }
  if (call.verb == Verb::kSet || call.verb == Verb::kReset) {
    apply(call);
    return;
  }
  if (driver_seen && !(hasAddress(call.kind) && call.address != 0)) return;
  if (driver_seen && call.verb == Verb::kAllocate && isLiveAt(call.address)) return;
  if (driver_seen && call.verb == Verb::kFree) {
    auto at = by_address_.find(call.address);
    // Freed inside, and perhaps handed out again since.
    if (at == by_address_.end() || holdings_[at->second].since_ns >= call.start_ns) return;
  }
  apply(call);
}

void ProcessLedger::takeCarried(const MemoryCall& call) {
  if (call.code != 0 || !isPossible(call)) {
    ++counts_.impossible;
    return;
  }
  is_carrying_ = true;
  carry(call);
  is_carrying_ = false;
}

void ProcessLedger::apply(const MemoryCall& call) {
  if (call.code != 0) {
    fail(call);
    return;
  }
  if (!isPossible(call)) {
    ++counts_.impossible;
    return;
  }
  switch (call.kind) {
    case MemoryKind::kContext:
      endContext(call, contexts_.take(call));
      return;
    case MemoryKind::kBlock:
      onBlock(call);
      return;
    case MemoryKind::kPhysical:
      onPhysical(call);
      return;
    case MemoryKind::kAlias:
      onAlias(call);
      return;
    case MemoryKind::kArray:
      onArray(call);
      return;
    case MemoryKind::kAddressRange:
      onAddressRange(call);
      return;
    case MemoryKind::kPoolItself:
      onPool(call);
      return;
    case MemoryKind::kGraph:
      onGraph(call);
      return;
    case MemoryKind::kStream:
      onStream(call);
      return;
    default:
      onMemory(call);
  }
}

void ProcessLedger::fail(const MemoryCall& call) {
  ++failures_.by_code[call.code];
  if (call.plane == Plane::kDriver) failures_.last[call.thread] = call.end_ns;
  int32_t device = where(call).device;
  sums_.addFailure(device, call.kind);
  Effect effect;
  effect.address = call.address;
  effect.size_bytes = call.size_bytes;
  effect.device = device;
  tell(What::kFailure, Cause::kCall, call, effect);
}

void ProcessLedger::tellAnswer(const MemoryCall& call) {
  if (call.code != 0 || call.address > call.size_bytes || call.size_bytes > base::kMaxSizeBytes)
    return;
  Effect effect;
  effect.address = call.address;
  effect.size_bytes = call.size_bytes;
  effect.device = contexts_.where(call).device;
  tell(What::kAnswered, Cause::kCall, call, effect);
}

void ProcessLedger::onMemory(const MemoryCall& call) {
  if (call.verb == Verb::kSet || call.verb == Verb::kReset) {  // of the runtime: a device
    endContext(call, contexts_.take(call));
  } else if (call.verb == Verb::kAllocate) {
    if (call.size_bytes == 0) return;  // legal, and nothing is handed out
    if (call.address == 0) {
      addWithoutAddress(call.size_bytes);
      return;
    }
    clearRange(call);
    by_address_[call.address] = addHolding(call, call.address, Cause::kCall);
  } else if (call.verb == Verb::kFree) {
    freeAddress(call);
  }
}

void ProcessLedger::freeAddress(const MemoryCall& call) {
  if (call.address == 0) return;  // legal, and nothing happens
  auto at = by_address_.find(call.address);
  bool registered = call.kind == MemoryKind::kRegisteredHost;
  if (at != by_address_.end() &&
      (holdings_[at->second].kind == MemoryKind::kRegisteredHost) == registered) {
    if (!isOfBefore(at->second, call.address, call)) endHolding(at->second, call, Cause::kCall);
    return;
  }
  if (freesOvertaken(call.address, call)) return;
  auto alias = aliases_.find(call.address);
  if (alias != aliases_.end()) {
    if (--alias->second == 0) aliases_.erase(alias);
    return;
  }
  auto promise = promises_.find(call.address);
  if (promise != promises_.end()) {
    sums_.take(promise->second.device, MemoryKind::kGraph, promise->second.size_bytes,
               Cause::kCall);
    promises_.erase(promise);
    return;
  }
  if (freed_.contains(call.address)) {
    ++counts_.frees_again;
    return;
  }
  countOlderFree(call);
}

// Whether a free began before the present memory came, so that it ends what was here before. If
// nothing was here, that is older than the recording.
bool ProcessLedger::isOfBefore(uint32_t row, uint64_t place, const MemoryCall& call) {
  if (holdings_[row].since_ns <= call.start_ns) return false;
  if (!freesOvertaken(place, call) && !freed_.contains(call.address)) countOlderFree(call);
  return true;
}

void ProcessLedger::countOlderFree(const MemoryCall& call) {
  ++(isHostMemory(call.kind) ? counts_.host_frees_of_older : counts_.frees_of_older);
  if (call.kind == MemoryKind::kPhysical || call.kind == MemoryKind::kArray) return;
  Effect effect;
  effect.address = call.address;
  effect.kind = call.kind;
  tell(What::kOlderFreed, Cause::kCall, call, effect);
}

void ProcessLedger::onBlock(const MemoryCall& call) {
  if (call.address == 0) return;
  if (call.verb == Verb::kFree) {
    auto at = blocks_.find(call.address);
    if (at != blocks_.end()) {
      endBlock(at, call, Cause::kCall);
    } else {
      ++(freed_blocks_.contains(call.address) ? counts_.block_frees_again
                                              : counts_.block_frees_of_older);
    }
    return;
  }
  if (call.verb != Verb::kAllocate || call.size_bytes == 0) return;
  endBlocks(call.address, call.address + call.size_bytes, call, Cause::kMissed);
  FrameworkBlock block{call.size_bytes, call.stream, 0, call.end_ns, contexts_.where(call).device,
                       call.stack,      call.thread};
  if (is_carrying_) block.device = call.device;
  bool is_outside = is_carrying_ && call.inner == 1;
  block.place = is_outside ? 0 : placeOf(call.address, block.device, call);
  counts_.outside_blocks += block.place == 0;
  auto at = by_address_.upper_bound(call.address);
  if (block.place != 0 && at != by_address_.begin()) {
    Holding& around = holdings_[std::prev(at)->second];
    if (block.device < 0 && !is_carrying_) block.device = around.device;
    if (call.address - around.address < around.size_bytes && !around.of_framework) {
      around.of_framework = true;
      around.block_stream = call.stream;
    }
  }
  blocks_.emplace(call.address, block);
  addTo(block.device, MemoryKind::kBlock, block.size_bytes);
  Effect effect;
  effect.address = call.address;
  effect.size_bytes = call.size_bytes;
  effect.stream = call.stream;
  effect.device = block.device;
  effect.place = block.place;
  tell(What::kBlock, Cause::kCall, call, effect);
}

void ProcessLedger::onAlias(const MemoryCall& call) {
  uint64_t key = call.address != 0 ? call.address : call.handle;
  if (call.verb == Verb::kAllocate || call.verb == Verb::kRetain) {
    if (key == 0) return;
    ++aliases_[key];
    ++counts_.aliases;
  } else if (call.verb == Verb::kFree) {
    auto at = aliases_.find(key);
    if (at == aliases_.end()) {
      ++counts_.frees_of_older;
    } else if (--at->second == 0) {
      aliases_.erase(at);
    }
  }
}

void ProcessLedger::onArray(const MemoryCall& call) {
  auto known = arrays_.find(call.handle);
  if (call.verb == Verb::kAllocate) {
    if (known != arrays_.end()) endHolding(known->second, call, Cause::kMissed);
    if (call.handle == 0 || call.size_bytes == 0) {
      addWithoutAddress(call.size_bytes);
      return;
    }
    arrays_[call.handle] = addHolding(call, call.handle, Cause::kCall);
  } else if (call.verb == Verb::kFree && call.handle != 0) {
    if (known != arrays_.end()) {
      if (!isOfBefore(known->second, call.handle, call))
        endHolding(known->second, call, Cause::kCall);
    } else if (!freesOvertaken(call.handle, call)) {
      ++counts_.frees_of_older;
    }
  }
}

Where ProcessLedger::where(const MemoryCall& call) const {
  Where where = contexts_.where(call);
  // Memory of a pool is on the pool's device, and that of a default pool on the stream's.
  if (int32_t named = handles_.ofMemory(call); named >= 0) where.device = named;
  return where;
}

void ProcessLedger::onStream(const MemoryCall& call) {
  if (call.verb == Verb::kCreate)
    handles_.addStream(call.handle, contexts_.where(call).device, call.end_ns);
  else if (call.verb == Verb::kDestroy)
    handles_.removeStream(call.handle, call.start_ns);
}

void ProcessLedger::onPool(const MemoryCall& call) {
  int32_t device = contexts_.where(call).device;
  if (call.verb == Verb::kCreate || call.verb == Verb::kRetain)
    handles_.addPool(call.handle, device, call.end_ns);
  if (call.verb == Verb::kDestroy) handles_.removePool(call.handle, call.start_ns);
  if (call.verb == Verb::kCreate) {
    // What was handed out from a pool that had this handle before stays until it is freed.
    PoolSum& pool = pools_.try_emplace({call.handle, device}, PoolSum{device}).first->second;
    pool.most_used_bytes = pool.used_bytes;
    pool.is_destroyed = false;
    return;
  }
  for (auto at = pools_.lower_bound({call.handle, INT32_MIN});
       at != pools_.end() && at->first.first == call.handle; ++at) {
    if (call.verb == Verb::kTrim) at->second.most_used_bytes = at->second.used_bytes;
    if (call.verb == Verb::kDestroy) at->second.is_destroyed = true;
  }
}

void ProcessLedger::onGraph(const MemoryCall& call) {
  if (call.verb != Verb::kAllocate || call.address == 0) return;
  int32_t device = contexts_.where(call).device;
  auto known = promises_.find(call.address);  // graphs that do not run together share addresses
  if (known != promises_.end()) {
    sums_.take(known->second.device, MemoryKind::kGraph, known->second.size_bytes, Cause::kMissed);
  }
  promises_[call.address] = {call.size_bytes, device};
  addTo(device, MemoryKind::kGraph, call.size_bytes);
}

void ProcessLedger::endContext(const MemoryCall& call, const Ended& ended) {
  if (!ended.any || ended.device < 0) return;
  std::vector<uint32_t> rows = ended.whole_device
                                   ? holdings_.ofDevice(ended.device)
                                   : holdings_.ofContext(ended.device, ended.context);
  // A context whose handle was not recorded has the number 0.
  if (!ended.whole_device && ended.last_of_its_device && ended.context != 0) {
    std::vector<uint32_t> nameless = holdings_.ofContext(ended.device, 0);
    rows.insert(rows.end(), nameless.begin(), nameless.end());
  }
  for (uint32_t row : rows) {
    if (holdings_[row].place == 0) continue;  // it went with another
    if (holdings_[row].kind == MemoryKind::kPhysical) {
      dropPhysical(row, call);
    } else {
      endHolding(row, call, Cause::kImplicit);
    }
  }
}

void ProcessLedger::end(int64_t time_ns) {
  std::vector<HeldBy> held = heldByStack();
  unfreed_.insert(unfreed_.end(), held.begin(), held.end());
  MemoryCall last;
  last.end_ns = time_ns;
  endBlocks(0, UINT64_MAX, last, Cause::kImplicit);
  unmap(0, UINT64_MAX, last, Cause::kImplicit);
  for (uint32_t row = 0; row < holdings_.size(); ++row) {
    if (holdings_[row].place == 0) continue;
    last.device = holdings_[row].device;
    endHolding(row, last, Cause::kImplicit);
  }
  for (const auto& [address, promise] : promises_) {
    sums_.take(promise.device, MemoryKind::kGraph, promise.size_bytes, Cause::kImplicit);
  }
  promises_.clear();
  physical_.by_handle.clear();
  aliases_.clear();
  physical_.framework_places.clear();
  physical_.carried.clear();
  physical_.reservations.clear();
  freed_.clear();
  freed_blocks_.clear();
  overtaken_.clear();
  failures_.last.clear();
  contexts_.clear();
  handles_.clear();
}

void Ledger::take(const MemoryCall& call) {
  std::unique_ptr<ProcessLedger>& ledger = ledgers_[call.process];
  if (!ledger) ledger = std::make_unique<ProcessLedger>(call.process, sink_);
  ledger->take(call);
}

void Ledger::takeCarried(const MemoryCall& call) {
  std::unique_ptr<ProcessLedger>& ledger = ledgers_[call.process];
  if (!ledger) ledger = std::make_unique<ProcessLedger>(call.process, sink_);
  ledger->takeCarried(call);
}

void Ledger::endProcess(uint32_t process, int64_t time_ns) {
  auto at = ledgers_.find(process);
  if (at != ledgers_.end()) at->second->end(time_ns);
}

const ProcessLedger* Ledger::find(uint32_t process) const {
  auto at = ledgers_.find(process);
  return at == ledgers_.end() ? nullptr : at->second.get();
}

std::vector<uint32_t> Ledger::processes() const {
  std::vector<uint32_t> processes;
  for (const auto& [process, ledger] : ledgers_) processes.push_back(process);
  return processes;
}

}  // namespace tidegauge::model
