#include "model/ledger/overtaken.h"

#include <algorithm>

namespace tidegauge::model {

Overtaken::Key Overtaken::keyOf(uint64_t place, MemoryKind kind) {
  bool is_apart = kind == MemoryKind::kPhysical || kind == MemoryKind::kArray ||
                  kind == MemoryKind::kRegisteredHost;
  return {place, is_apart ? static_cast<uint8_t>(kind) : static_cast<uint8_t>(MemoryKind::kDevice)};
}

void Overtaken::add(uint64_t place, const OvertakenMemory& memory) {
  if (entries_ >= kMaxEntries) clear();
  std::vector<OvertakenMemory>& here = by_place_[keyOf(place, memory.kind)];
  if (here.size() >= kMaxOfPlace) {
    here.erase(here.begin());
    --entries_;
  }
  here.push_back(memory);
  ++entries_;
}

std::optional<OvertakenMemory> Overtaken::take(uint64_t place, MemoryKind kind, int64_t start_ns) {
  auto found = by_place_.find(keyOf(place, kind));
  if (found == by_place_.end()) return std::nullopt;
  std::vector<OvertakenMemory>& here = found->second;
  auto memory = std::find_if(here.begin(), here.end(), [&](const OvertakenMemory& it) {
    return it.since_ns <= start_ns && start_ns < it.until_ns;
  });
  if (memory == here.end()) return std::nullopt;
  OvertakenMemory taken = *memory;
  here.erase(memory);
  --entries_;
  if (here.empty()) by_place_.erase(found);
  return taken;
}

void Overtaken::clear() {
  by_place_.clear();
  entries_ = 0;
}

}  // namespace tidegauge::model
