#include "record/code/address_space.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace tidegauge::record {

AddressSpaces::~AddressSpaces() {
  for (const Module& module : modules_)
    if (module.descriptor >= 0) close(module.descriptor);
}

namespace {

// An unknown address triggers another read of the mappings. A process whose stacks often contain
// invalid addresses must not cause one each time.
constexpr uint32_t kFreeLooks = 50;
constexpr std::chrono::milliseconds kBetweenLooks{20};

}  // namespace

std::optional<CodePlace> AddressSpaces::place(uint32_t pid, uint64_t address) {
  Space& space = spaces_[pid];
  for (bool again : {false, true}) {
    if (again || space.ranges.empty()) {
      auto now = std::chrono::steady_clock::now();
      if (space.looks >= kFreeLooks && now - space.looked < kBetweenLooks) break;
      space.looked = now;
      space.looks += 1;
      look(pid);
    }
    auto after = std::upper_bound(space.ranges.begin(), space.ranges.end(), address,
                                  [](uint64_t at, const Range& range) { return at < range.start; });
    if (after == space.ranges.begin() || address >= std::prev(after)->end) continue;
    const Range& range = *std::prev(after);
    if (range.module == kNoModule) return CodePlace{kNoModule, address};
    return CodePlace{range.module, address - range.start + range.offset};
  }
  // it ended before its mappings were read
  if (space.ranges.empty()) return CodePlace{kNoModule, address};
  return std::nullopt;
}

void AddressSpaces::inherit(uint32_t pid, uint32_t parent) {
  auto space = spaces_.find(parent);
  if (space != spaces_.end()) spaces_.try_emplace(pid, space->second);
}

void AddressSpaces::forget(uint32_t pid) { spaces_.erase(pid); }

void AddressSpaces::look(uint32_t pid) {
  bool is_whole = false;
  std::vector<Range> found;
  for (const Mapping& mapping : executableMappings(pid, &is_whole)) {
    uint32_t module = mapping.file.inode == 0 ? kNoModule : moduleOf(pid, mapping);
    found.push_back({mapping.start, mapping.end, mapping.offset, module});
  }
  renew(spaces_[pid].ranges, std::move(found), is_whole);
}

std::vector<uint32_t> AddressSpaces::forgetModules(const std::set<uint32_t>& wanted,
                                                   uint32_t before) {
  std::set<uint32_t> mapped;
  for (const auto& [pid, space] : spaces_)
    for (const Range& range : space.ranges) mapped.insert(range.module);
  std::vector<uint32_t> gone;
  modules_.forgetIf([&](uint32_t id, const Module& module) {
    if (id >= before || wanted.contains(id) || mapped.contains(id)) return false;
    if (module.descriptor >= 0) {
      close(module.descriptor);
      open_ -= 1;
    }
    ids_.erase(module.file);
    gone.push_back(id);
    return true;
  });
  return gone;
}

uint32_t AddressSpaces::moduleOf(uint32_t pid, const Mapping& mapping) {
  auto [found, is_new] = ids_.try_emplace(mapping.file, static_cast<uint32_t>(modules_.size()));
  if (!is_new) return found->second;
  Module module{mapping.file, mapping.path, -1};
  if (open_ < kMaxOpen)
    module.descriptor = open(pathFromHere(pid, mapping).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  open_ += module.descriptor >= 0;
  modules_.push_back(std::move(module));
  return found->second;
}

}  // namespace tidegauge::record
