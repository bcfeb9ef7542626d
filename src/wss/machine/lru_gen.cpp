#include "wss/machine/lru_gen.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace tidegauge::wss {
namespace {

std::string_view takeLine(std::string_view& text) {
  size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

void skipSpaces(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
}

bool takeWord(std::string_view& line, std::string_view word) {
  skipSpaces(line);
  if (!line.starts_with(word)) return false;
  line.remove_prefix(word.size());
  return true;
}

std::optional<uint64_t> takeNumber(std::string_view& line) {
  skipSpaces(line);
  uint64_t value = 0;
  auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<size_t>(rest - line.data()));
  return value;
}

std::optional<Generation> parseGeneration(std::string_view line) {
  std::array<uint64_t, 4> values{};
  for (uint64_t& value : values) {
    auto number = takeNumber(line);
    if (!number) return std::nullopt;
    value = *number;
  }
  return Generation{values[0], values[2], values[3]};
}

}  // namespace

std::vector<LruGroup> parseLruGen(std::string_view text) {
  std::vector<LruGroup> groups;
  bool is_in_group = false, is_in_node = false;
  while (!text.empty()) {
    std::string_view line = takeLine(text), rest = line;
    if (takeWord(rest, "memcg")) {
      auto id = takeNumber(rest);
      is_in_group = id.has_value();
      is_in_node = false;
      if (!is_in_group) continue;
      if (!rest.empty()) rest.remove_prefix(1);  // one space; a path may begin with more
      groups.push_back({*id, rest.empty() ? "/" : std::string(rest), {}});
    } else if (takeWord(rest, "node")) {
      auto node = takeNumber(rest);
      is_in_node = is_in_group && node.has_value();
      if (is_in_node) groups.back().nodes.push_back({*node, {}});
    } else if (auto generation = parseGeneration(line); generation && is_in_node) {
      groups.back().nodes.back().generations.push_back(*generation);
    }
  }
  for (LruGroup& group : groups)
    std::erase_if(group.nodes, [](const LruNode& node) { return node.generations.empty(); });
  std::erase_if(groups, [](const LruGroup& group) { return group.nodes.empty(); });
  return groups;
}

bool isWithinCgroup(std::string_view path, std::string_view folder) {
  return path == folder || folder == "/" ||
         (path.starts_with(folder) && path[folder.size()] == '/');
}

std::string memoryCgroup(std::string_view text) {
  std::string_view second;
  while (!text.empty()) {
    std::string_view line = takeLine(text);
    size_t first_colon = line.find(':');
    size_t second_colon = first_colon == std::string_view::npos ? std::string_view::npos
                                                                : line.find(':', first_colon + 1);
    if (second_colon == std::string_view::npos) continue;
    std::string_view controllers = line.substr(first_colon + 1, second_colon - first_colon - 1);
    std::string_view path = line.substr(second_colon + 1);
    if (controllers.empty() && line.starts_with("0:")) second = path;
    while (!controllers.empty()) {
      size_t end = std::min(controllers.find(','), controllers.size());
      if (controllers.substr(0, end) == "memory") return std::string(path);
      controllers.remove_prefix(std::min(end + 1, controllers.size()));
    }
  }
  return std::string(second);
}

const LruGroup* findGroup(const std::vector<LruGroup>& groups, std::string_view path) {
  while (path.starts_with('/')) {
    auto found = std::ranges::find(groups, path, &LruGroup::path);
    if (found != groups.end()) return &*found;
    if (path == "/") break;
    path = path.substr(0, std::max<size_t>(1, path.rfind('/')));
  }
  return nullptr;
}

}  // namespace tidegauge::wss
