#include "record/process_maps.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <array>
#include <charconv>
#include <fstream>

namespace tidegauge::record {
namespace {

// Takes a number off the front of `text`, and what follows it if that is `end`.
bool take(std::string_view& text, int base, char end, uint64_t& value) {
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || rest == text.data() + text.size() || *rest != end) return false;
  text.remove_prefix(static_cast<size_t>(rest - text.data()) + 1);
  return true;
}

}  // namespace

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
    if (mapping.file.inode == 0) continue;
    mapping.file.device = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    constexpr std::string_view kDeleted = " (deleted)";
    mapping.deleted = line.ends_with(kDeleted);
    if (mapping.deleted) line.remove_suffix(kDeleted.size());
    mapping.path = line;
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

std::string readable(const std::string& path) {
  // By read(): an iterator over the buffer throws where a read fails, for instance because the
  // process has ended since.
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 16384> part{};
  while (file.read(part.data(), part.size()) || file.gcount() > 0)
    text.append(part.data(), static_cast<size_t>(file.gcount()));
  return text;
}

std::vector<Mapping> executableMappings(uint32_t tgid) {
  return parseMappings(readable(fmt::format("/proc/{}/maps", tgid)));
}

std::string pathFromHere(uint32_t tgid, const Mapping& mapping) {
  if (mapping.deleted)
    return fmt::format("/proc/{}/map_files/{:x}-{:x}", tgid, mapping.start, mapping.end);
  return fmt::format("/proc/{}/root{}", tgid, mapping.path);
}

}  // namespace tidegauge::record
