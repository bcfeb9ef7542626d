#include "wss/machine/memory_scope.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "wss/machine/lru_gen.h"
#include "wss/process/kernel_file.h"

namespace tidegauge::wss {
namespace {

uint64_t numberOf(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=93010": 93,010 µs.
std::optional<int64_t> totalOf_ns(std::string_view pressure, std::string_view word) {
  size_t line = pressure.find(word);
  if (line == std::string_view::npos) return std::nullopt;
  pressure = pressure.substr(line, pressure.find('\n', line) - line);
  constexpr std::string_view kTotal = "total=";
  size_t at = pressure.find(kTotal);
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<int64_t>(
      std::min<uint64_t>(numberOf(pressure.substr(at + kTotal.size())), uint64_t{1} << 53) * 1000);
}

// Rows "name 42".
void eachRow(std::string_view text, const auto& visit) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    size_t space = line.find(' ');
    if (space != std::string_view::npos)
      visit(line.substr(0, space), numberOf(line.substr(space + 1)));
  }
}

std::string folderOfOne(const std::string& cgroup, const std::string& root) {
  return root + "/sys/fs/cgroup/memory" + cgroup;
}

uint64_t sinceThen(uint64_t now, uint64_t before) { return now > before ? now - before : 0; }

std::optional<int64_t> sinceThen(std::optional<int64_t> now, std::optional<int64_t> before) {
  if (!now || !before) return std::nullopt;
  return std::max<int64_t>(0, *now - *before);
}

}  // namespace

MemoryCounters operator-(const MemoryCounters& now, const MemoryCounters& before) {
  MemoryCounters between{
      .refaulted_file = sinceThen(now.refaulted_file, before.refaulted_file),
      .refaulted_anonymous = sinceThen(now.refaulted_anonymous, before.refaulted_anonymous),
      .scanned = sinceThen(now.scanned, before.scanned),
      .taken = sinceThen(now.taken, before.taken),
      .some_ns = sinceThen(now.some_ns, before.some_ns),
      .full_ns = sinceThen(now.full_ns, before.full_ns)};
  if (!now.limit_hits || !before.limit_hits) return between;
  between.limit_hits = sinceThen(*now.limit_hits, *before.limit_hits);
  between.scanned_for_machine = sinceThen(now.scanned_for_machine, before.scanned_for_machine);
  between.taken_for_machine = sinceThen(now.taken_for_machine, before.taken_for_machine);
  bool is_own = *between.limit_hits > 0;  // else the rest was taken from other cgroups
  auto counted = [&](uint64_t all, uint64_t for_machine) {
    return is_own ? std::max(all, for_machine) : for_machine;
  };
  between.scanned = counted(between.scanned, between.scanned_for_machine);
  between.taken = counted(between.taken, between.taken_for_machine);
  return between;
}

void add(MemoryCounters& sum, const MemoryCounters& more) {
  sum.refaulted_file += more.refaulted_file;
  sum.refaulted_anonymous += more.refaulted_anonymous;
  sum.scanned += more.scanned;
  sum.taken += more.taken;
  if (more.some_ns) sum.some_ns = sum.some_ns.value_or(0) + *more.some_ns;
  if (more.full_ns) sum.full_ns = sum.full_ns.value_or(0) + *more.full_ns;
}

MemoryCounters parseMemoryCounters(std::string_view stat, std::string_view pressure,
                                   uint64_t page_bytes) {
  MemoryCounters counters;
  eachRow(stat, [&](std::string_view name, uint64_t value) {
    uint64_t bytes = value * page_bytes;
    if (name.starts_with("total_")) name.remove_prefix(6);  // version 1: with the cgroups below
    if (name == "workingset_refault_file") counters.refaulted_file = bytes;
    if (name == "workingset_refault_anon") counters.refaulted_anonymous = bytes;
    // A cgroup has one row for both kinds, the machine one for private memory and one for files.
    for (std::string_view of : {"", "_anon", "_file"}) {
      if (name.substr(0, 6) == "pgscan" && name.substr(6) == of) counters.scanned += bytes;
      if (name.substr(0, 7) == "pgsteal" && name.substr(7) == of) counters.taken += bytes;
    }
    // Rows of the machine, which leave out what was taken from a cgroup because of its limit
    // (mm/vmscan.c, shrink_inactive_list).
    for (std::string_view by : {"_kswapd", "_direct", "_khugepaged", "_proactive"}) {
      if (name.substr(0, 6) == "pgscan" && name.substr(6) == by)
        counters.scanned_for_machine += bytes;
      if (name.substr(0, 7) == "pgsteal" && name.substr(7) == by)
        counters.taken_for_machine += bytes;
    }
  });
  counters.some_ns = totalOf_ns(pressure, "some ");
  counters.full_ns = totalOf_ns(pressure, "full ");
  return counters;
}

MemoryScope MemoryScope::of(const Process& process, std::string root) {
  auto file = process.openFile("cgroup", O_RDONLY);
  if (!file.ok()) return {{}, std::move(root)};
  int error_number = 0;
  std::string path = memoryCgroup(readAll(file.value(), size_t{1} << 20, error_number));
  close(file.value());
  // Version 1 has other files. In a container with its own cgroups, "/" is its cgroup, and so it is
  // if the path is valid only outside. The real root also has a memory.stat, but no memory.current.
  for (const std::string& cgroup : {path, std::string("/")}) {
    MemoryScope scope(cgroup, root);
    auto has = [&](const char* name) {
      return access((scope.folder() + "/" + name).c_str(), R_OK) == 0;
    };
    if (!cgroup.empty() && has("memory.pressure") && has("memory.stat") && has("memory.current"))
      return scope;
  }
  if (path.size() > 1 && access((folderOfOne(path, root) + "/memory.stat").c_str(), R_OK) == 0)
    return {std::move(path), std::move(root), true};
  return {{}, std::move(root)};
}

MemoryScope MemoryScope::ofCgroup(std::string path, std::string root) {
  return {std::move(path), std::move(root)};
}

std::string MemoryScope::folder() const {
  return is_version_1_ ? folderOfOne(cgroup_, root_) : root_ + "/sys/fs/cgroup" + cgroup_;
}

uint64_t chargedBytes(const std::string& cgroup, const std::string& root) {
  for (const std::string& path : {fmt::format("{}/sys/fs/cgroup{}/memory.current", root, cgroup),
                                  folderOfOne(cgroup, root) + "/memory.usage_in_bytes"})
    if (auto text = readKernelFile(path); text.ok()) return numberOf(text.value());
  return 0;
}

base::Result<MemoryCounters> MemoryScope::look() const {
  TG_ASSIGN_OR_RETURN(std::string stat, readKernelFile(scansMachine() ? root_ + "/proc/vmstat"
                                                                      : folder() + "/memory.stat"));
  if (is_version_1_) {  // its refaults replace those of the machine, which stand before
    TG_ASSIGN_OR_RETURN(std::string of_cgroup, readKernelFile(folder() + "/memory.stat"));
    stat += "\n" + of_cgroup;
  }
  auto pressure = readKernelFile(scansMachine() ? root_ + "/proc/pressure/memory"
                                                : folder() + "/memory.pressure");
  // Without the file: a kernel that was built, or started, without PSI (psi=1).
  std::string_view text = pressure.ok() ? std::string_view(pressure.value()) : std::string_view();
  MemoryCounters counters =
      parseMemoryCounters(stat, text, static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  if (is_version_1_) counters.limit_hits = limitHits();
  return counters;
}

uint64_t MemoryScope::limitHits() const {
  uint64_t hits = 0;
  // Where both limits are equal, only the one of memory and swap is counted.
  for (std::string path = cgroup_; path.size() > 1; path.resize(path.rfind('/')))
    for (const char* name : {"memory.failcnt", "memory.memsw.failcnt", "memory.kmem.failcnt"})
      if (auto text = readKernelFile(fmt::format("{}/{}", folderOfOne(path, root_), name));
          text.ok())
        hits += numberOf(text.value());
  return hits;
}

std::optional<CgroupMemory> MemoryScope::memory() const {
  if (cgroup_.empty()) return std::nullopt;
  auto stat = readKernelFile(folder() + "/memory.stat");
  auto charged =
      readKernelFile(folder() + (is_version_1_ ? "/memory.usage_in_bytes" : "/memory.current"));
  if (!stat.ok() || !charged.ok()) return std::nullopt;
  CgroupMemory memory{.charged = numberOf(charged.value())};
  const std::pair<std::string_view, uint64_t CgroupMemory::*>
      kVersion1[] = {{"total_inactive_file", &CgroupMemory::inactive_file},
                     {"total_cache", &CgroupMemory::cache},
                     {"total_mapped_file", &CgroupMemory::mapped_cache}},
      kVersion2[] = {{"inactive_file", &CgroupMemory::inactive_file},
                     {"file", &CgroupMemory::cache},
                     {"file_mapped", &CgroupMemory::mapped_cache}};
  eachRow(stat.value(), [&](std::string_view name, uint64_t value) {
    for (const auto& [row, member] : is_version_1_ ? kVersion1 : kVersion2)
      if (name == row) memory.*member = value;
  });
  auto own = readKernelFile(root_ + "/proc/self/cgroup");
  auto statm = readKernelFile(root_ + "/proc/self/statm");  // "size resident shared …", in pages
  if (own.ok() && statm.ok() && isWithinCgroup(memoryCgroup(own.value()), cgroup_))
    memory.own = numberOf(statm.value().substr(statm.value().find(' ') + 1)) *
                 static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return memory;
}

}  // namespace tidegauge::wss
