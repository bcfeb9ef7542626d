#include "base/container/group_memory.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string>

namespace tidegauge::base {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

// The names of the same figures in both versions of groups.
struct Names {
  const char *limit, *used, *active_file, *inactive_file;
};
constexpr Names kVersion2{"memory.max", "memory.current", "active_file", "inactive_file"};
constexpr Names kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file",
                          "total_inactive_file"};

// "max" and a missing file are not numbers.
std::optional<uint64_t> numberIn(const fs::path& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

uint64_t filePages(const fs::path& group, const Names& names) {
  std::ifstream file(group / "memory.stat");
  std::string key;
  uint64_t bytes = 0, sum = 0;
  while (file >> key >> bytes)
    if (key == names.active_file || key == names.inactive_file) sum += bytes;
  return sum;
}

uint64_t leftIn(const fs::path& group, const Names& names) {
  auto most = numberIn(group / names.limit);
  auto used = numberIn(group / names.used);
  if (!most || !used) return kUnlimited;
  uint64_t kept = *used - std::min(*used, filePages(group, names));
  return *most > kept ? *most - kept : 0;
}

uint64_t leftIn(const fs::path& root, std::string_view path, const Names& names) {
  uint64_t left = leftIn(root, names);
  fs::path group = root;
  for (const fs::path& part : fs::path(path).relative_path())
    left = std::min(left, leftIn(group /= part, names));
  return left;
}

// "cpu,memory" has "memory".
bool isIn(std::string_view name, std::string_view list) {
  while (!list.empty()) {
    std::string_view one = list.substr(0, list.find(','));
    if (one == name) return true;
    list.remove_prefix(std::min(list.size(), one.size() + 1));
  }
  return false;
}

}  // namespace

uint64_t groupMemoryBytes(std::string_view groups, const fs::path& mount) {
  uint64_t left = leftIn(mount, kVersion2);
  while (!groups.empty()) {  // NUMBER:CONTROLLERS:PATH, and 0::PATH in version 2
    std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(groups.size(), line.size() + 1));
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    std::string_view controllers = line.substr(first + 1, second - first - 1);
    std::string_view path = line.substr(second + 1);
    if (controllers.empty()) left = std::min(left, leftIn(mount, path, kVersion2));
    if (isIn("memory", controllers))
      left = std::min(left, leftIn(mount / "memory", path, kVersion1));
  }
  return left;
}

uint64_t groupMemoryBytes() {
  std::ifstream file("/proc/self/cgroup");
  std::string groups(std::istreambuf_iterator<char>(file), {});
  return groupMemoryBytes(groups, "/sys/fs/cgroup");
}

}  // namespace tidegauge::base
