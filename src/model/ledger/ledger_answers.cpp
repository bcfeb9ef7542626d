// What a ledger knows now, put together when it is asked: by stack, by address, outside of what was
// handed out. Each is O(live).
#include <algorithm>
#include <tuple>

#include "model/ledger/ledger.h"

namespace tidegauge::model {
namespace {

class StackSums {
 public:
  void add(uint32_t stack, int32_t device, MemoryKind kind, uint64_t bytes, int64_t since_ns) {
    HeldBy& row =
        held_.try_emplace({stack, device, kind}, HeldBy{stack, device, kind}).first->second;
    row.oldest_ns = row.count == 0 ? since_ns : std::min(row.oldest_ns, since_ns);
    row.bytes += bytes;
    ++row.count;
  }
  std::vector<HeldBy> rows() const {
    std::vector<HeldBy> rows;
    for (const auto& [key, row] : held_) rows.push_back(row);
    std::stable_sort(rows.begin(), rows.end(),
                     [](const HeldBy& a, const HeldBy& b) { return a.bytes > b.bytes; });
    return rows;
  }

 private:
  std::map<std::tuple<uint32_t, int32_t, MemoryKind>, HeldBy> held_;
};

}  // namespace

std::vector<HeldBy> ProcessLedger::heldByStack() const {
  StackSums sums;
  for (const Holding& it : holdings_)
    if (it.place != 0) sums.add(it.stack, it.device, it.kind, it.size_bytes, it.since_ns);
  return sums.rows();
}

std::vector<HeldBy> ProcessLedger::blocksByStack() const {
  StackSums sums;
  for (const auto& [address, block] : blocks_)
    sums.add(block.stack, block.device, MemoryKind::kBlock, block.size_bytes, block.since_ns);
  return sums.rows();
}

uint64_t ProcessLedger::unfreedBytes() const {
  uint64_t bytes = 0;
  for (const HeldBy& held : unfreed_)
    if (isDeviceMemory(held.kind)) bytes += held.bytes;
  return bytes;
}

uint64_t ProcessLedger::outsideBytes() const {
  uint64_t bytes = 0;
  for (const auto& [address, block] : blocks_) bytes += block.place == 0 ? block.size_bytes : 0;
  return bytes;
}

uint64_t ProcessLedger::unmappedBytes() const {
  uint64_t bytes = 0;
  for (const Holding& holding : holdings_) {
    bool physical = holding.place != 0 && holding.kind == MemoryKind::kPhysical;
    if (physical && holding.mappings == 0) bytes += holding.size_bytes;
  }
  return bytes;
}

std::vector<LiveRange> ProcessLedger::liveRanges() const {
  std::vector<LiveRange> ranges;
  ranges.reserve(by_address_.size() + physical_.mappings.size());
  for (const auto& [address, row] : by_address_) {
    const Holding& it = holdings_[row];
    if (isDeviceMemory(it.kind))
      ranges.push_back({address, it.size_bytes, it.device, it.of_framework});
  }
  auto held = static_cast<std::ptrdiff_t>(ranges.size());
  uint64_t place = 0;  // of the last mapping
  for (const auto& [address, mapping] : physical_.mappings) {
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
