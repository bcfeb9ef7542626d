#include "wss/cache/cache_frames.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/kernel-page-flags.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "wss/pages/pagemap.h"
#include "wss/process/kernel_file.h"

namespace tidegauge::wss {
namespace {

constexpr size_t kChunk = 8192;  // frames, 32 MiB of memory

constexpr uint64_t bit(int number) { return uint64_t{1} << number; }
constexpr uint64_t kListed = bit(KPF_LRU), kTail = bit(KPF_COMPOUND_TAIL),
                   kOther = bit(KPF_ANON) | bit(KPF_MMAP) | bit(KPF_HUGE) | bit(KPF_SLAB) |
                            bit(KPF_NOPAGE);

base::Result<int> openTable(const std::string& path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file >= 0) return file;
  bool is_refused = errno == EACCES || errno == EPERM;
  return missingFeature(fmt::format("{} cannot be read: {}", path, std::strerror(errno)),
                        is_refused ? "Run as root"
                                   : "It needs a kernel with CONFIG_MEMCG and "
                                     "CONFIG_PROC_PAGE_MONITOR");
}

}  // namespace

base::Result<std::vector<CacheFrame>> cacheFramesOf(const std::set<uint64_t>& cgroup_inodes,
                                                    const std::string& root) {
  TG_ASSIGN_OR_RETURN(int cgroups_file, openTable(root + "/proc/kpagecgroup"));
  WordFile cgroups(cgroups_file);
  TG_ASSIGN_OR_RETURN(int flags_file, openTable(root + "/proc/kpageflags"));
  WordFile flags(flags_file);
  std::vector<CacheFrame> frames;
  std::vector<uint64_t> inodes(kChunk), bits(kChunk);
  uint64_t first = 0;     // of the folio that the last frame was in
  bool is_cache = false;  // that folio
  for (uint64_t base = 0;; base += kChunk) {
    ssize_t known = cgroups.read(inodes, base);
    if (known < 0)
      return unreadable(fmt::format("/proc/kpagecgroup cannot be read: {}", std::strerror(errno)));
    if (known == 0) return frames;
    std::span<uint64_t> there(inodes.data(), static_cast<size_t>(known));
    auto isMeant = [&](uint64_t inode) { return inode != 0 && cgroup_inodes.contains(inode); };
    if (std::ranges::none_of(there, isMeant)) continue;
    ssize_t with_flags = flags.read({bits.data(), there.size()}, base);
    if (with_flags < 0)
      return unreadable(fmt::format("/proc/kpageflags cannot be read: {}", std::strerror(errno)));
    for (size_t i = 0; i < std::min(there.size(), static_cast<size_t>(with_flags)); ++i) {
      if ((bits[i] & kTail) == 0) {
        first = base + i;
        is_cache = isMeant(there[i]) && (bits[i] & kListed) != 0 && (bits[i] & kOther) == 0;
      }
      // A tail may be mapped where its head is not.
      if (is_cache && (bits[i] & kOther) == 0) frames.push_back({base + i, first});
    }
  }
}

}  // namespace tidegauge::wss
