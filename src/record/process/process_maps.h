// The executable mappings of a process, from /proc/PID/maps: the files of its code.
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

// Identifies a file whatever its name is: libraries in containers, in wheels, replaced while in
// use.
struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
  auto operator<=>(const FileId&) const = default;
};

struct Mapping {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t offset = 0;
  FileId file;           // inode 0: not a file
  std::string path;      // as its mount names it, or from the recorder's root if that leads there
  bool deleted = false;  // no longer at that path
};

// Executable mappings; inode 0 for code generated at run time. Empty if the process is gone or not
// accessible. The kernel returns the text page by page: `is_whole` is false if the process ended
// (or started another program) before the last page.
std::vector<Mapping> executableMappings(uint32_t tgid, bool* is_whole = nullptr);
std::vector<Mapping> parseMappings(std::string_view maps);  // from the text, for tests

// Removes the suffix that the kernel adds to the path of a deleted file; returns whether there was
// one.
bool cutDeleted(std::string_view& path);

// The readable part of a file, at most 64 MiB: the process may end meanwhile. `is_whole`: that was
// everything, and the beginning is unchanged.
std::string readable(const std::string& path, bool* is_whole = nullptr);

// A path through which the recorder can open the file: /proc/PID/map_files, which is always that
// file but needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE; else through the process's root (a
// container's mount), or unchanged (for a process that only changed its root).
std::string pathFromHere(uint32_t tgid, const Mapping& mapping);

// Replaces the known ranges {start, end, …} by the found ones, by address. If the process ended
// meanwhile, only the lower part was found: above it, the known ranges stay.
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
