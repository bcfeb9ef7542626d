#include "wss/machine/machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "wss/machine/lru_gen.h"
#include "wss/process/kernel_file.h"

namespace tidegauge::wss {
namespace {

// Empty if there is no such file.
std::string textOf(const std::string& path) {
  auto text = readKernelFile(path);
  return text.ok() ? std::move(text).value() : std::string();
}

// "32768K", "512"; 0 if it is not a number ("max").
uint64_t bytesIn(std::string_view text) {
  uint64_t value = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return 0;
  bool is_kib = rest != text.data() + text.size() && *rest == 'K';
  return is_kib && value <= UINT64_MAX / 1024 ? value * 1024 : value;
}

// "0-1,8": three processors.
uint32_t processorsIn(std::string_view list) {
  uint64_t count = 0;
  while (!list.empty()) {
    std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(part.size() + 1, list.size()));
    uint64_t first = bytesIn(part), last = first;
    if (size_t dash = part.find('-'); dash != std::string_view::npos)
      last = bytesIn(part.substr(dash + 1));
    if (last >= first) count += std::min<uint64_t>(last - first, 1U << 20) + 1;
  }
  return static_cast<uint32_t>(count);
}

void addCaches(Machine& machine, const std::string& root) {
  constexpr int kMaxCaches = 16;
  for (int i = 0; i < kMaxCaches; ++i) {
    std::string folder = fmt::format("{}/sys/devices/system/cpu/cpu0/cache/index{}/", root, i);
    std::string level = textOf(folder + "level");
    if (level.empty() || textOf(folder + "type") == "Instruction") continue;
    uint64_t bytes = bytesIn(textOf(folder + "size"));
    if (level == "2") machine.l2_bytes = bytes;
    if (level != "3") continue;
    machine.l3_bytes = bytes;
    machine.l3_processors = processorsIn(textOf(folder + "shared_cpu_list"));
  }
}

#ifdef __x86_64__
void addTlb(Machine& machine) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kHypervisor = 1U << 31, kData = 1, kUnified = 3, kLoad = 4;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kHypervisor) != 0) return;
  constexpr unsigned kMaxLeaves = 32;
  for (unsigned leaf = 0; leaf < kMaxLeaves && __get_cpuid_count(0x18, leaf, &a, &b, &c, &d) != 0;
       ++leaf) {
    unsigned type = d & 31, level = d >> 5 & 7;
    if (level == 2 && (type == kData || type == kUnified || type == kLoad)) {
      uint64_t entries = uint64_t{b >> 16} * c;
      if ((b & 1) != 0) machine.tlb_entries = std::max(machine.tlb_entries, entries);
      if ((b & 2) != 0) machine.huge_tlb_entries = std::max(machine.huge_tlb_entries, entries);
    }
  }
  if (machine.tlb_entries != 0 || __get_cpuid(0x80000006, &a, &b, &c, &d) == 0) return;
  machine.tlb_entries = b >> 16 & 0xfff;
  machine.huge_tlb_entries = a >> 16 & 0xfff;
}
#else
void addTlb(Machine&) {}
#endif

// The smallest limit from the cgroup up to the root, since all of them apply. In a container with
// its own cgroups, the visible root may have a limit; the real root has no such file.
void addLimit(Machine& machine, const Process& process, const std::string& root) {
  auto file = process.openFile("cgroup", O_RDONLY);
  if (!file.ok()) return;
  int error_number = 0;
  std::string path = memoryCgroup(readAll(file.value(), size_t{1} << 20, error_number));
  close(file.value());
  if (path == "/") path.clear();
  while (path.empty() || path.starts_with('/')) {
    uint64_t limit = bytesIn(textOf(fmt::format("{}/sys/fs/cgroup{}/memory.max", root, path)));
    if (limit == 0)
      limit = bytesIn(
          textOf(fmt::format("{}/sys/fs/cgroup/memory{}/memory.limit_in_bytes", root, path)));
    // Version 1 writes a huge number for no limit.
    bool is_one = limit != 0 && limit < machine.memory_bytes;
    if (is_one && (machine.limit_bytes == 0 || limit < machine.limit_bytes)) {
      machine.limit_bytes = limit;
      machine.limit_of = path.empty() ? "/" : path;
    }
    if (path.empty()) return;
    path.resize(path.rfind('/'));
  }
}

uint64_t memoryOf(const std::string& root) {
  std::string text = textOf(root + "/proc/meminfo");
  constexpr std::string_view kName = "MemTotal:";
  size_t at = text.find(kName);
  if (at == std::string::npos) return 0;
  size_t digits = text.find_first_not_of(' ', at + kName.size());
  return digits == std::string::npos ? 0 : bytesIn(std::string_view(text).substr(digits)) * 1024;
}

}  // namespace

Machine lookAtMachine(const Process& process, const std::string& root) {
  Machine machine;
  machine.memory_bytes = memoryOf(root);
  addCaches(machine, root);
  addTlb(machine);
  addLimit(machine, process, root);
  return machine;
}

Machine lookAtMachine(const std::deque<Process>& processes, const std::string& root) {
  if (processes.empty()) return {};
  Machine machine = lookAtMachine(processes.front(), root);
  bool is_common = std::ranges::all_of(processes, [&](const Process& process) {
    auto text = process.readFile("cgroup");
    return text.ok() && isWithinCgroup(memoryCgroup(text.value()), machine.limit_of);
  });
  if (machine.limit_bytes == 0 || is_common) return machine;
  machine.limit_bytes = 0;
  machine.limit_of.clear();
  return machine;
}

}  // namespace tidegauge::wss
