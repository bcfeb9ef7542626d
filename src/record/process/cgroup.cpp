#include "record/process/cgroup.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <filesystem>
#include <fstream>

#include "record/process/errors.h"

namespace tidegauge::record {

std::string mountOfCgroup2() {
  std::ifstream file("/proc/self/mounts");
  std::string device, place, type, rest;
  while (file >> device >> place >> type && std::getline(file, rest))
    if (type == "cgroup2") return place;
  return {};
}

namespace {

bool isCgroup2(const std::string& path) {
  struct statfs status {};
  return statfs(path.c_str(), &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC;
}

}  // namespace

base::Result<Cgroup> findCgroup(const std::string& folder) {
  std::string mount = mountOfCgroup2();
  if (mount.empty())
    return missing("no cgroup v2 hierarchy is mounted", "use -p, --comm or --all instead");
  std::error_code error;
  std::filesystem::path path = std::filesystem::canonical(folder, error);
  if (error || !isCgroup2(path)) path = std::filesystem::canonical(mount + "/" + folder, error);
  if (error || !isCgroup2(path))
    return base::Error{
        base::ErrorKind::kUsage, fmt::format("{} is no cgroup (v2)", folder), {}, {}};
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return unreadable(path.string() + ": not readable");
  std::filesystem::path below = path.lexically_relative(std::filesystem::canonical(mount, error));
  Cgroup cgroup{status.st_ino, 0};
  for (const auto& part : below)
    if (part != ".") cgroup.level += 1;
  return cgroup;
}

bool isInCgroup(uint32_t pid, const Cgroup& cgroup) {
  std::ifstream file(fmt::format("/proc/{}/cgroup", pid));
  constexpr std::string_view kVersion2 = "0::/";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kVersion2)) continue;
    std::filesystem::path above = mountOfCgroup2();
    uint32_t level = 0;
    for (const auto& part : std::filesystem::path(line.substr(kVersion2.size())))
      if (level < cgroup.level) above /= part, ++level;
    struct stat status {};
    return level == cgroup.level && stat(above.c_str(), &status) == 0 && status.st_ino == cgroup.id;
  }
  return false;
}

}  // namespace tidegauge::record
