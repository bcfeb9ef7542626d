#include "record/process/process_maps.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <charconv>

#include "record/process/helper.h"

namespace tidegauge::record {
namespace {

constexpr size_t kMaxText = size_t{64} << 20;

// Removes a number from the front of `text`, and `end` if that follows.
bool take(std::string_view& text, int base, char end, uint64_t& value) {
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || rest == text.data() + text.size() || *rest != end) return false;
  text.remove_prefix(static_cast<size_t>(rest - text.data()) + 1);
  return true;
}

}  // namespace

bool cutDeleted(std::string_view& path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (!path.ends_with(kDeleted)) return false;
  path.remove_suffix(kDeleted.size());
  return true;
}

std::vector<Mapping> parseMappings(std::string_view maps) {
  std::vector<Mapping> mappings;
  while (!maps.empty()) {
    size_t end = std::min(maps.find('\n'), maps.size());
    std::string_view line = maps.substr(0, end);
    maps.remove_prefix(std::min(end + 1, maps.size()));
    Mapping mapping;
    uint64_t major = 0, minor = 0;
    if (!take(line, 16, '-', mapping.start) || !take(line, 16, ' ', mapping.end)) continue;
    if (line.size() < 5 || line[2] != 'x') continue;
    line.remove_prefix(5);
    if (!take(line, 16, ' ', mapping.offset) || !take(line, 16, ':', major) ||
        !take(line, 16, ' ', minor) || !take(line, 10, ' ', mapping.file.inode))
      continue;
    mapping.file.device = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    mapping.deleted = cutDeleted(line);
    mapping.path = line;
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

std::string readable(const std::string& path, bool* is_whole) {
  if (is_whole != nullptr) *is_whole = false;
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return {};
  struct stat status {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {  // a container may put a pipe there
    close(file);
    return {};
  }
  std::string text;
  std::vector<char> part(size_t{64} << 10);
  ssize_t got = 0;
  while ((got = read(file, part.data(), part.size())) > 0 && text.size() < kMaxText)
    text.append(part.data(), static_cast<size_t>(got));
  // For a process that is gone, /proc reports nothing but the end of the file.
  if (is_whole != nullptr) *is_whole = got == 0 && pread(file, part.data(), 1, 0) == 1;
  close(file);
  return text;
}

std::vector<Mapping> executableMappings(uint32_t tgid, bool* is_whole) {
  return parseMappings(readable(fmt::format("/proc/{}/maps", tgid), is_whole));
}

std::string pathFromHere(uint32_t tgid, const Mapping& mapping) {
  std::string by_mapping =
      fmt::format("/proc/{}/map_files/{:x}-{:x}", tgid, mapping.start, mapping.end);
  struct stat file {};
  if (stat(by_mapping.c_str(), &file) == 0) return by_mapping;
  if (mapping.deleted) {  // CAP_CHECKPOINT_RESTORE opens it, which a recorder does not keep
    std::string opened = openRemoved(tgid, mapping.start, mapping.end);
    return opened.empty() ? by_mapping : opened;
  }
  std::string through_root = fmt::format("/proc/{}/root{}", tgid, mapping.path);
  for (const std::string& path : {through_root, mapping.path})
    if (stat(path.c_str(), &file) == 0 && file.st_ino == mapping.file.inode) return path;
  return through_root;
}

}  // namespace tidegauge::record
