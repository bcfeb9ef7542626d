#include "record/address_space.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace tidegauge::record {

AddressSpaces::~AddressSpaces() {
  for (const Module& module : modules_)
    if (module.descriptor >= 0) close(module.descriptor);
}

CodePlace AddressSpaces::place(uint32_t pid, uint64_t address) {
  for (bool again : {false, true}) {
    auto space = spaces_.find(pid);
    if (again || space == spaces_.end()) {
      look(pid);
      space = spaces_.find(pid);
    }
    const std::vector<Range>& ranges = space->second;
    auto after = std::upper_bound(ranges.begin(), ranges.end(), address,
                                  [](uint64_t at, const Range& range) { return at < range.start; });
    if (after != ranges.begin() && address < std::prev(after)->end)
      return {std::prev(after)->module,
              address - std::prev(after)->start + std::prev(after)->offset};
  }
  return {kNoModule, address};
}

void AddressSpaces::inherit(uint32_t pid, uint32_t parent) {
  auto space = spaces_.find(parent);
  if (space != spaces_.end()) spaces_.try_emplace(pid, space->second);
}

void AddressSpaces::forget(uint32_t pid) { spaces_.erase(pid); }

void AddressSpaces::look(uint32_t pid) {
  std::vector<Mapping> mappings = executableMappings(pid);
  std::vector<Range>& ranges = spaces_[pid];
  if (mappings.empty()) return;  // it is gone: what was known stays
  ranges.clear();
  for (const Mapping& mapping : mappings)
    ranges.push_back({mapping.start, mapping.end, mapping.offset, moduleOf(pid, mapping)});
}

uint32_t AddressSpaces::moduleOf(uint32_t pid, const Mapping& mapping) {
  auto [found, is_new] = ids_.try_emplace(mapping.file, static_cast<uint32_t>(modules_.size()));
  if (!is_new) return found->second;
  Module module{mapping.file, mapping.path, -1};
  if (open_ < kMostOpen)
    module.descriptor = open(pathFromHere(pid, mapping).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  open_ += module.descriptor >= 0;
  modules_.push_back(std::move(module));
  return found->second;
}

}  // namespace tidegauge::record
