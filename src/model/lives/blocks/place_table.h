// PlaceTable: what is known of each address while events are read forwards.
//
//   0x7f00…  │ block 17, live, not freed yet, 4 MiB requested
//   0x7f20…  │ no block; the third life there ended at step 912
//
// Open addressing with linear probing; a place is never removed. It is looked up at random for each
// event, so prefetch() is called some events ahead, and half of the slots stay free: then a search
// mostly ends where it begins, which the processor predicts. Places of many events are found in one
// loop, since nothing there waits for what an event does. Cost: O(1) per lookup; 48 to 96 bytes per
// address.
#pragma once

#include <cstdint>
#include <vector>

#include "model/lives/blocks/older_blocks.h"

namespace tidegauge::model {

struct Place {
  uint64_t address = 0;
  BlockNumber block = kNoBlock;  // the block that is live there
  uint32_t version = 0;          // lives that have ended there
  // While a block is live: when its free was requested, kNoStep if it was not. Else: when the last
  // one ended, kNoStep if there was none.
  Step step = kNoStep;
  uint32_t requested = kUnused;                        // bytes of the live, traced block
  static constexpr uint32_t kLarge = UINT32_MAX;       // … that do not fit here
  static constexpr uint32_t kUnused = UINT32_MAX - 1;  // no address yet

  void setRequested(uint64_t bytes) {
    requested = bytes < kUnused ? static_cast<uint32_t>(bytes) : kLarge;
  }
  bool isUnused() const { return requested == kUnused; }
  Step lastEnd() const { return block == kNoBlock ? step : kNoStep; }
};

class PlaceTable {
 public:
  PlaceTable() : slots_(size_t{1} << kFirstBits) {}

  // With the place after it, which a search looks at next.
  void prefetch(uint64_t address) const {
    const auto* slot = reinterpret_cast<const char*>(&slots_[slotOf(address)]);
    __builtin_prefetch(slot, 1);
    __builtin_prefetch(slot + 2 * sizeof(Place) - 1, 1);
  }
  // nullptr if nothing was ever there.
  const Place* find(uint64_t address) const {
    const Place& place = slots_[probe(address)];
    return place.isUnused() ? nullptr : &place;
  }
  // Valid until the next call that may add a place.
  Place& at(uint64_t address) {
    makeRoom(1);
    return slots_[numberOf(address)];
  }
  // For `more` addresses. Then places keep their numbers until the next call.
  void makeRoom(size_t more) {
    while (used_ + more > slots_.size() / 2) grow();
  }
  size_t numberOf(uint64_t address) {
    size_t slot = probe(address);
    if (slots_[slot].isUnused()) {
      slots_[slot].address = address;
      slots_[slot].requested = Place::kLarge;
      ++used_;
    }
    return slot;
  }
  Place& operator[](size_t number) { return slots_[number]; }
  template <class F>
  void forEach(F&& f) {
    for (Place& place : slots_) {
      if (!place.isUnused()) f(place);
    }
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
    while (!slots_[slot].isUnused() && slots_[slot].address != address)
      slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }
  void grow() {
    std::vector<Place> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Place& place : old) {
      if (!place.isUnused()) slots_[probe(place.address)] = place;
    }
  }

  std::vector<Place> slots_;  // a power of two
  size_t used_ = 0;
};

}  // namespace tidegauge::model
