// Physical memory of the ledger (cuMemCreate): who holds handles of it, where it is mapped, which
// addresses are reserved for that. It is charged when it is made and goes with its last handle and
// its last mapping.
//
//   create h 2 MiB · reserve 0x7f00 · map 0x7f00 → h · release h        held: it is mapped
//   unmap 0x7f00                                                        gone
#include <algorithm>

#include "base/sizes.h"
#include "model/ledger/ledger.h"

namespace tidegauge::model {

void ProcessLedger::onAddressRange(const MemoryCall& call) {
  if (call.verb == Verb::kAllocate && call.size_bytes > 0) {
    physical_.reservations[call.address] = {call.address + call.size_bytes, holdings_.nextPlace(),
                                            is_carrying_ ? 0 : call.end_ns};
  } else if (call.verb == Verb::kFree) {
    auto at = physical_.reservations.find(call.address);
    if (at == physical_.reservations.end()) return;
    if (at->second.since_ns > call.start_ns) return;  // it frees the range that was there before
    if (physical_.mappings.empty()) physical_.framework_places.erase(at->second.place);
    physical_.reservations.erase(at);
  }
}

void ProcessLedger::onPhysical(const MemoryCall& call) {
  if (call.handle == 0 && call.verb != Verb::kUnmap) {
    addWithoutAddress(call.verb == Verb::kAllocate ? call.size_bytes : 0);
    return;
  }
  const PhysicalHandle* held = findPhysical(call.handle);
  switch (call.verb) {
    case Verb::kAllocate: {
      if (held != nullptr) {  // given out again: its release was not recorded, or is under way
        uint32_t row = held->row;
        Holding& before = holdings_[row];
        overtaken_.add(call.handle, {before.since_ns, call.end_ns, before.device, before.kind,
                                     before.mappings == 0});
        before.references = 0;
        dropIfUnused(row, call, Cause::kMissed);
      }
      if (call.size_bytes == 0) return;
      uint32_t row = addHolding(call, 0, Cause::kCall);
      holdings_[row].references = 1;
      physical_.by_handle[call.handle] = {row, holdings_[row].place};
      return;
    }
    case Verb::kFree: {
      if (held != nullptr) {
        uint32_t row = held->row;
        if (isOfBefore(row, call.handle, call)) return;
        if (--holdings_[row].references > 0) return;
        physical_.by_handle.erase(call.handle);
        dropIfUnused(row, call, Cause::kCall);
        return;
      }
      if (freesOvertaken(call.handle, call)) return;
      auto alias = aliases_.find(call.handle);
      if (alias == aliases_.end()) {
        ++counts_.frees_of_older;
      } else if (--alias->second == 0) {
        aliases_.erase(alias);
      }
      return;
    }
    case Verb::kRetain: {
      if (held != nullptr) {
        ++holdings_[held->row].references;
        return;
      }
      auto at = physical_.mappings.upper_bound(call.address);
      bool inside = at != physical_.mappings.begin() && std::prev(at)->second.end > call.address;
      if (inside && !std::prev(at)->second.is_alias) {
        uint32_t row = std::prev(at)->second.holding;
        ++holdings_[row].references;
        physical_.by_handle[call.handle] = {row, holdings_[row].place};
      } else {
        ++aliases_[call.handle];
      }
      return;
    }
    case Verb::kMap: {
      if (call.size_bytes == 0) return;
      clearRange(call);
      held = findPhysical(call.handle);  // it may have gone with what was mapped there
      if (held == nullptr && aliases_.contains(call.handle)) {
        addMapping(call, contexts_.where(call).device, std::nullopt);
        return;
      }
      if (held == nullptr) {  // made before the recording: as large as we see
        ++counts_.older_physical;
        MemoryCall older = call;
        older.size_bytes = std::min({base::kMaxSizeBytes,
                                     call.size_bytes + std::min(base::kMaxSizeBytes, call.offset),
                                     kMaxProcessBytes - sums_.liveBytes()});
        older.stack = kNoStackOfCall;
        uint32_t row = addHolding(older, 0, Cause::kMissed);
        holdings_[row].references = 1;
        physical_.by_handle[call.handle] = {row, holdings_[row].place};
        held = &physical_.by_handle[call.handle];
      }
      addMapping(call, holdings_[held->row].device, held->row);
      return;
    }
    case Verb::kUnmap: {
      if (call.size_bytes == 0) return;
      uint64_t end = call.address + call.size_bytes;
      tellOlderUnmap(call.address, end, call);
      unmap(call.address, end, call, Cause::kCall);
      return;
    }
    default:
      return;
  }
}

// Nothing that was seen at these addresses can still be there.
void ProcessLedger::clearRange(const MemoryCall& call) {
  uint64_t end = call.address + call.size_bytes;
  endOverlapping(call.address, end, call);
  unmap(call.address, end, call, Cause::kMissed);
}

// To addresses that are clear; no row: of an alias.
void ProcessLedger::addMapping(const MemoryCall& call, int32_t device,
                               std::optional<uint32_t> row) {
  Mapping mapping;
  mapping.end = call.address + call.size_bytes;
  mapping.stack = call.stack;
  mapping.device = device;
  mapping.is_alias = !row;
  auto reserved = physical_.reservations.upper_bound(call.address);
  bool inside =
      reserved != physical_.reservations.begin() && std::prev(reserved)->second.end > call.address;
  mapping.place = inside ? std::prev(reserved)->second.place : holdings_.nextPlace();
  if (row) {
    mapping.holding = *row;
    ++holdings_[*row].mappings;
    physical_.of_row.emplace(*row, call.address);
  }
  physical_.mappings.emplace(call.address, mapping);
  physical_.mapped_bytes += call.size_bytes;
  Effect effect;
  effect.address = call.address;
  effect.size_bytes = call.size_bytes;
  effect.device = device;
  effect.place = mapping.place;
  if (row) effect.physical = holdings_[*row].place;
  effect.is_alias = mapping.is_alias;
  if (is_carrying_) {
    effect.stream = call.stream;
    effect.of_framework = call.inner == 1;
    if (effect.of_framework) physical_.framework_places.try_emplace(mapping.place, call.stream);
  }
  tell(What::kMapped, Cause::kCall, call, effect);
}

const PhysicalHandle* ProcessLedger::findPhysical(uint64_t handle) {
  auto at = physical_.by_handle.find(handle);
  if (at == physical_.by_handle.end()) return nullptr;
  if (holdings_[at->second.row].place == at->second.place) return &at->second;
  physical_.by_handle.erase(at);
  return nullptr;
}

void ProcessLedger::unmap(uint64_t begin, uint64_t end, const MemoryCall& call, Cause cause) {
  auto at = physical_.mappings.upper_bound(begin);
  if (at != physical_.mappings.begin() && std::prev(at)->second.end > begin) --at;
  while (at != physical_.mappings.end() && at->first < end) {
    uint64_t from = std::max(begin, at->first);
    uint64_t to = std::min(end, at->second.end);
    Mapping mapping = at->second;
    uint64_t mapped_from = at->first;
    at = physical_.mappings.erase(at);
    if (!mapping.is_alias) physical_.of_row.erase({mapping.holding, mapped_from});
    // What sticks out stays, as mappings of their own.
    uint64_t rests = 0;
    if (mapped_from < from) {
      Mapping left = mapping;
      left.end = from;
      physical_.mappings.emplace(mapped_from, left);
      if (!mapping.is_alias) physical_.of_row.emplace(mapping.holding, mapped_from);
      ++rests;
    }
    if (mapping.end > to) {
      at = std::next(physical_.mappings.emplace(to, mapping).first);
      if (!mapping.is_alias) physical_.of_row.emplace(mapping.holding, to);
      ++rests;
    }
    endBlocks(from, to, call, cause == Cause::kImplicit ? cause : Cause::kMissed);
    Effect effect;
    effect.address = from;
    effect.size_bytes = to - from;
    effect.device = mapping.device;
    effect.place = mapping.place;
    if (!mapping.is_alias) effect.physical = holdings_[mapping.holding].place;
    effect.is_alias = mapping.is_alias;
    if (cause == Cause::kMissed) effect.earliest_ns = 1;  // at any time before
    tell(What::kUnmapped, cause, call, effect);
    physical_.mapped_bytes -= to - from;
    if (!mapping.is_alias) {
      holdings_[mapping.holding].mappings += rests;
      --holdings_[mapping.holding].mappings;
      dropIfUnused(mapping.holding, call, cause);
    }
  }
}

// Parts of an unmapped range that no call had mapped: older than the recording.
void ProcessLedger::tellOlderUnmap(uint64_t begin, uint64_t end, const MemoryCall& call) {
  auto tell_part = [&](uint64_t from, uint64_t to) {
    if (from >= to) return;
    ++counts_.frees_of_older;
    Effect effect;
    effect.address = from;
    effect.size_bytes = to - from;
    effect.device = contexts_.where(call).device;
    tell(What::kUnmapped, Cause::kCall, call, effect);
  };
  auto at = physical_.mappings.upper_bound(begin);
  if (at != physical_.mappings.begin()) {
    begin = std::max(begin, std::min(end, std::prev(at)->second.end));
  }
  for (; at != physical_.mappings.end() && at->first < end; ++at) {
    tell_part(begin, at->first);
    begin = std::min(end, at->second.end);
  }
  tell_part(begin, end);
}

// A device was reset: its memory goes with all mappings and handles.
void ProcessLedger::dropPhysical(uint32_t row, const MemoryCall& call) {
  uint64_t place = holdings_[row].place;
  while (holdings_[row].place == place) {
    auto at = physical_.of_row.lower_bound({row, 0});
    if (at == physical_.of_row.end() || at->first != row) break;
    uint64_t begin = at->second;
    unmap(begin, physical_.mappings.at(begin).end, call, Cause::kImplicit);
  }
  if (holdings_[row].place != place) return;
  holdings_[row].references = 0;
  dropIfUnused(row, call, Cause::kImplicit);
}

void ProcessLedger::dropIfUnused(uint32_t row, const MemoryCall& call, Cause cause) {
  const Holding& holding = holdings_[row];
  if (holding.place == 0 || holding.references > 0 || holding.mappings > 0) return;
  endHolding(row, call, cause);
}

}  // namespace tidegauge::model
