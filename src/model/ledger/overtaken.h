// Overtaken: memory that ended because its place was handed out again, while the call that frees it
// had not returned. The ledger takes calls by their ends, so that free comes later, and is counted
// then.
//
//   thread 1   |--- free 0x7f00 -------------|   add(0x7f00, until 20); at its end take(0x7f00, 10)
//   thread 2       |- allocate → 0x7f00 -|        0x7f00 ended at 20, without a call that freed it
//             10                        20
//
// A free whose record was lost leaves its entry. So an address keeps the newest 256 entries, and
// all addresses together a million. Cost: O(1), and O(entries of the address) to take one.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "model/memory_call.h"

namespace tidegauge::model {

struct OvertakenMemory {
  int64_t since_ns = 0;  // when it came
  int64_t until_ns = 0;  // when the next memory at its place came
  int32_t device = kUnknownDevice;
  MemoryKind kind = MemoryKind::kDevice;
  bool has_ended = true;  // false: its last handle is gone, but it is still mapped
};

class Overtaken {
 public:
  // `place`: an address, or a handle of physical memory or of an array.
  void add(uint64_t place, const OvertakenMemory& memory);
  // What a free of that kind ends that began at `start_ns`: it was there then, and is not now.
  std::optional<OvertakenMemory> take(uint64_t place, MemoryKind kind, int64_t start_ns);
  void clear();

 private:
  static constexpr size_t kMaxEntries = size_t{1} << 20;
  static constexpr size_t kMaxOfPlace = 256;
  // Handles, registered host memory and all other memory are apart: one number may name each.
  using Key = std::pair<uint64_t, uint8_t>;
  static Key keyOf(uint64_t place, MemoryKind kind);

  boost::unordered_flat_map<Key, std::vector<OvertakenMemory>> by_place_;  // oldest first
  size_t entries_ = 0;
};

}  // namespace tidegauge::model
