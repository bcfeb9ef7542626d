#include "wss/measure/places.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text_layout.h"

namespace tidegauge::wss {
namespace {

constexpr uint64_t kSmallPage = 4096, kHugePage = 2 << 20;

}  // namespace

std::vector<Place> placesOf(const Machine& machine) {
  std::vector<Place> places;
  auto add = [&](std::string name, uint64_t bytes, std::string words) {
    if (bytes != 0) places.push_back({std::move(name), bytes, std::move(words)});
  };
  add("L2", machine.l2_bytes, "");
  add("TLB", machine.tlb_entries * kSmallPage, " in pages of 4 KiB");
  add("L3", machine.l3_bytes,
      machine.l3_processors > 1 ? fmt::format(", which {} processors share", machine.l3_processors)
                                : "");
  add("TLB", machine.huge_tlb_entries * kHugePage, " in pages of 2 MiB");
  add(std::string(kLimitName), machine.limit_bytes,
      fmt::format(" of cgroup {}", base::printable(machine.limit_of)));
  add("memory", machine.memory_bytes, " of this machine");
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& one, const Place& other) { return one.bytes < other.bytes; });
  return places;
}

size_t kneeOf(const std::vector<Touched>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    auto now = static_cast<double>(rows[i].bytes);
    if (static_cast<double>(rows.back().bytes) <= now * 1.1) return i;
  }
  return rows.size() - 1;
}

}  // namespace tidegauge::wss
