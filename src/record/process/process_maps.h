// The executable mappings of a process, from /proc/PID/maps: which files its code comes from.
//
//   7f12a000-7f13b000 r-xp 00012000 fd:01 131 /usr/lib/libcuda.so.1
//   → {start 0x7f12a000, end …, offset 0x12000, device fd:01, inode 131, path}
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidegauge::record {

// A file whatever it is called: libraries of containers, of wheels, replaced while in use.
struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
  auto operator<=>(const FileId&) const = default;
};

struct Mapping {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t offset = 0;
  FileId file;           // inode 0: of no file
  std::string path;      // as its mount names it, or from our root if that leads there
  bool deleted = false;  // no longer at that path
};

// Executable mappings; of no file (inode 0) what was made at run time. Empty if the process is gone
// or may not be looked at. The kernel hands the text out page by page: `is_whole` false if the
// process ended (or became another program) before the last one.
std::vector<Mapping> executableMappings(uint32_t tgid, bool* is_whole = nullptr);
std::vector<Mapping> parseMappings(std::string_view maps);  // of the text, for tests

// Cuts off what the kernel adds to the path of a file that is not there any more; whether it did.
bool cutDeleted(std::string_view& path);

// As much of a file as can be read, at most 64 MiB: a process may end meanwhile. `is_whole`: that
// was all, and its beginning is still there.
std::string readable(const std::string& path, bool* is_whole = nullptr);

// A path under which the recorder can open the file: /proc/PID/map_files, which is always the file
// but wants CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE; else through the process's root (a container's
// mount), or as it is (of a process that has only changed its root).
std::string pathFromHere(uint32_t tgid, const Mapping& mapping);

// Puts what was found in place of what was known, {start, end, …} by address. Of a process that
// ended meanwhile that is the lower part alone: where nothing was found, what was known stays.
//   known [a, b) [c, d)    found [a, b)    not whole → [a, b) [c, d)
template <class Range>
void renew(std::vector<Range>& known, std::vector<Range> found, bool is_whole) {
  if (!is_whole) {
    auto isFound = [&, count = found.size()](const Range& range) {
      return std::any_of(
          found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count),
          [&](const Range& it) { return it.start < range.end && range.start < it.end; });
    };
    std::erase_if(known, isFound);
    found.insert(found.end(), known.begin(), known.end());
    std::ranges::sort(found, {}, &Range::start);
  }
  known = std::move(found);
}

}  // namespace tidegauge::record
