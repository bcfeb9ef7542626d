#include "record/preload/strangers.h"

#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <sstream>

#include "record/preload/preload_area.h"
#include "record/process/process_maps.h"
#include "record/process/running_process.h"

namespace tidegauge::record {
namespace {

struct Ancestry {
  uint32_t parent = 0;
  uint64_t began = 0;
  uint64_t stack = 0;  // 0: not permitted
};

// Fields 4, 22 and 28 of /proc/PID/stat; the name before them may contain anything.
std::optional<Ancestry> ancestryOf(uint32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid), std::ios::binary);
  // Not by istreambuf_iterator, which throws if the process ends meanwhile (ESRCH).
  std::string text;
  std::getline(file, text, '\0');
  size_t end = text.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(end + 1));
  constexpr int kBetween = 17;  // fields 5 to 21
  constexpr int kBehind = 5;    // 23 to 27
  std::string state, other;
  Ancestry ancestry;
  fields >> state >> ancestry.parent;
  for (int i = 0; i < kBetween; ++i) fields >> other;
  fields >> ancestry.began;
  for (int i = 0; i < kBehind; ++i) fields >> other;
  fields >> ancestry.stack;
  bool has_ended = state == "Z" || state == "X";
  if (!fields || has_ended) return std::nullopt;
  return ancestry;
}

}  // namespace

UsesCuda usesCuda(std::string_view maps) {
  if (maps.find(kPreloadLibrary) != std::string_view::npos) return UsesCuda::kWithLibrary;
  for (std::string_view sign : {"/libcuda.so", "/libcudart.so", "/dev/nvidia"})
    if (maps.find(sign) != std::string_view::npos) return UsesCuda::kWithout;
  return UsesCuda::kNo;
}

std::vector<Stranger> Strangers::look(uint32_t root) {
  std::map<uint32_t, Ancestry> running;
  for (uint32_t pid : runningProcesses())
    if (auto ancestry = ancestryOf(pid)) running[pid] = *ancestry;
  // A process stays a descendant when its parent ends, and has it no longer.
  std::erase_if(descendants_, [&](const auto& entry) {
    auto found = running.find(entry.first);
    return found == running.end() || found->second.began != entry.second.began;
  });
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [pid, ancestry] : running) {
      if (descendants_.contains(pid)) continue;
      if (pid != root && !descendants_.contains(ancestry.parent)) continue;
      descendants_[pid].began = ancestry.began;
      changed = true;
    }
  }
  std::vector<Stranger> found;
  for (auto& [pid, descendant] : descendants_) {
    if (uint64_t stack = running[pid].stack; stack != descendant.stack)
      descendant = {descendant.began, stack, false, false};
    if (descendant.is_settled) continue;
    bool is_whole = false;
    std::string maps = readable(fmt::format("/proc/{}/maps", pid), &is_whole);
    bool is_readable = !maps.empty();
    if (is_readable && !is_whole) continue;  // it ends, or starts another program
    // A process that begins or ends has no mappings for a moment.
    bool is_surely_unreadable = !is_readable && descendant.was_unreadable && isRunning(pid);
    descendant.was_unreadable = !is_readable;
    UsesCuda uses = usesCuda(maps);
    descendant.is_settled = is_readable ? uses != UsesCuda::kNo : is_surely_unreadable;
    if (!descendant.is_settled || uses == UsesCuda::kWithLibrary) continue;
    found.push_back({pid, running[pid].parent, is_readable});
  }
  return found;
}

}  // namespace tidegauge::record
