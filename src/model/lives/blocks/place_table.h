// PlaceTable: what is known of each address while events are read forwards.
//
//   0x7f00…  │ block 17, live, the first life there
//   0x7f20…  │ block 12, which has ended, as two before it
//
// All else is in the row of that block. Open addressing with linear probing; a place is never
// removed. It is looked up at random for each event, so fetchPlace() is called some events ahead, a
// place has 16 bytes, and half of the slots stay free: then a search mostly ends where it begins,
// which the processor predicts. Cost: O(1) per lookup; 32 to 64 bytes per address,
// up to 128 of fewer than half a million.
#pragma once

#include <cstdint>
#include <vector>

#include "model/columns/fetch.h"
#include "model/lives/blocks/older_blocks.h"

namespace tidegauge::model {

struct Place {
  uint64_t address = 0;
  BlockNumber block = kNoBlock;  // the last one there; kNoBlock: no address yet
  uint32_t turns = 0;            // begins and ends of lives there

  bool isLive() const { return turns % 2 != 0; }
  uint32_t ended() const { return turns / 2; }  // lives
};
static_assert(sizeof(Place) == 16);

class PlaceTable {
 public:
  PlaceTable() : slots_(size_t{1} << kFirstBits) {}

  void fetchPlace(uint64_t address) const { fetch(&slots_[slotOf(address)]); }
  // nullptr if nothing was ever there.
  const Place* find(uint64_t address) const {
    const Place& place = slots_[probe(address)];
    return place.block == kNoBlock ? nullptr : &place;
  }
  // For `more` addresses.
  void makeRoom(size_t more) {
    while (used_ + more > slots_.size() / 2) grow();
  }
  // Needs room. A new place has no block: the caller gives it one before the next call.
  Place& at(uint64_t address) {
    Place& place = slots_[probe(address)];
    used_ += place.block == kNoBlock ? 1 : 0;
    place.address = address;
    return place;
  }

 private:
  static constexpr unsigned kFirstBits = 10;

  size_t slotOf(uint64_t address) const {
    // Addresses are multiples of large powers of two: the high half of the product depends on all
    // bits.
    auto product = static_cast<unsigned __int128>(address) * 0x9e3779b97f4a7c15U;
    auto mixed = static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
    return mixed & (slots_.size() - 1);
  }
  size_t probe(uint64_t address) const {
    size_t slot = slotOf(address);
    while (slots_[slot].address != address && slots_[slot].block != kNoBlock)
      slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }
  // A small table becomes four times as large, since each size that it once had took new pages.
  void grow() {
    constexpr size_t kMany = size_t{1} << 20;
    std::vector<Place> old(slots_.size() * (slots_.size() < kMany ? 4 : 2));
    old.swap(slots_);
    for (const Place& place : old) {
      if (place.block != kNoBlock) slots_[probe(place.address)] = place;
    }
  }

  std::vector<Place> slots_;  // a power of two
  size_t used_ = 0;
};

}  // namespace tidegauge::model
