#include "wss/cache/cgroup_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/text_layout.h"
#include "wss/cache/cache_frames.h"
#include "wss/cache/cached_files.h"
#include "wss/pages/idle_bitmap.h"
#include "wss/pages/own_page.h"
#include "wss/pages/page_bits.h"
#include "wss/process/kernel_file.h"
#include "wss/process/targets.h"

namespace tidegauge::wss {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBitmap = "/sys/kernel/mm/page_idle/bitmap";

// In kpagecgroup a cgroup is the inode of its folder.
std::set<uint64_t> inodesBelow(const std::string& folder) {
  std::set<uint64_t> inodes;
  eachCgroupBelow(folder, [&](const std::string& one) {
    struct stat about {};
    if (stat(one.c_str(), &about) == 0) inodes.insert(about.st_ino);
  });
  return inodes;
}

IdleBitmap bitmapOf(const std::vector<CacheFrame>& frames, const std::string& root) {
  IdleBitmap bitmap(root + kBitmap);
  for (const CacheFrame& frame : frames) bitmap.add(frame.first);
  return bitmap;
}

// Without the memory controller, its pages are charged to a cgroup above it.
base::Status checkCounts(const std::string& folder, const std::string& cgroup) {
  auto counts = [](const fs::path& path) {
    std::error_code error;
    return fs::exists(path / "memory.stat", error);
  };
  if (counts(folder)) return base::okStatus();
  fs::path above = fs::path(folder).parent_path();
  while (above.has_relative_path() && !counts(above)) above = above.parent_path();
  base::Error error = missingFeature(
      fmt::format("cgroup {} does not count memory", base::printable(cgroup)),
      "Enable its memory controller (cgroup.subtree_control of the cgroup above it)");
  if (above.has_relative_path())
    error.hint += fmt::format(", or use --cgroup {}, which does", base::printable(above.string()));
  return error;
}

void count(CachedBytes& bytes, bool is_used) {
  bytes.bytes += kPage;
  if (is_used) bytes.referenced += kPage;
}

}  // namespace

base::Result<CgroupCache> CgroupCache::open(const std::string& cgroup, const std::string& root) {
  TG_ASSIGN_OR_RETURN(std::string folder, memoryCgroupFolder(cgroup, root));
  TG_RETURN_IF_ERROR(checkCounts(folder, cgroup));
  return CgroupCache(cgroup, root, std::move(folder));
}

base::Status CgroupCache::clear(Clock& clock) {
  int64_t cpu_ns = clock.cpu_ns();
  drainLists();  // pages that are on no list yet have no flag
  TG_ASSIGN_OR_RETURN(std::vector<CacheFrame> frames, cacheFramesOf(inodesBelow(folder_), root_));
  TG_RETURN_IF_ERROR(bitmapOf(frames, root_).mark());
  marked_ns_ = clock.now_ns();
  cpu_ns_ = clock.cpu_ns() - cpu_ns;
  return base::okStatus();
}

base::Result<CacheUse> CgroupCache::read(const std::vector<const Process*>& processes,
                                         Clock& clock) {
  int64_t cpu_ns = clock.cpu_ns();
  CacheUse use{.cgroup = cgroup_};
  TG_ASSIGN_OR_RETURN(std::vector<CacheFrame> frames, cacheFramesOf(inodesBelow(folder_), root_));
  IdleBitmap bitmap = bitmapOf(frames, root_);
  TG_RETURN_IF_ERROR(bitmap.look());
  use.window_ns = clock.now_ns() - marked_ns_;
  std::vector<bool> is_used(frames.size()), is_named(frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    is_used[i] = !bitmap.isIdle(frames[i].first);
    count(use.all, is_used[i]);
  }
  std::vector<CachedBytes> of_files;
  size_t left = frames.size();
  auto files = eachCachedPage(processes, [&](size_t file, uint64_t frame) {
    auto found = std::ranges::lower_bound(frames, frame, {}, &CacheFrame::number);
    auto at = static_cast<size_t>(found - frames.begin());
    // Else of another cgroup, or mapped, or named before.
    if (found != frames.end() && found->number == frame && !is_named[at]) {
      of_files.resize(std::max(of_files.size(), file + 1));
      count(of_files[file], is_used[at]);
      is_named[at] = true;
      left -= 1;
    }
    return left > 0 && !clock.isEnding();
  });
  for (size_t i = 0; i < of_files.size(); ++i)
    if (of_files[i].bytes > 0) use.files.push_back({files[i].name, of_files[i]});
  std::ranges::stable_sort(use.files, std::greater<>(), [](const CacheUse::File& file) {
    return std::pair(file.of_it.referenced, file.of_it.bytes);
  });
  for (size_t i = 0; i < frames.size(); ++i)
    if (!is_named[i]) count(use.unnamed, is_used[i]);
  use.cpu_ns = std::exchange(cpu_ns_, 0) + clock.cpu_ns() - cpu_ns;
  return use;
}

}  // namespace tidegauge::wss
