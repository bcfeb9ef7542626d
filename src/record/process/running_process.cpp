#include "record/process/running_process.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

#include "record/process/process_maps.h"

namespace tidegauge::record {

std::string commandOf(uint32_t tgid) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", tgid), std::ios::binary);
  std::string text(4096, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

std::string nameOf(uint32_t tgid) {
  std::ifstream file(fmt::format("/proc/{}/comm", tgid));
  std::string name;
  std::getline(file, name);
  return name;
}

std::string programOf(uint32_t tgid) {
  std::string path(4096, '\0');
  ssize_t length = readlink(fmt::format("/proc/{}/exe", tgid).c_str(), path.data(), path.size());
  path.resize(length > 0 ? static_cast<size_t>(length) : 0);
  std::string_view there = path;
  (void)cutDeleted(there);
  return std::string(there);
}

std::vector<uint32_t> runningProcesses() {
  std::vector<uint32_t> pids;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return pids;
  while (dirent* entry = readdir(folder)) {
    uint32_t pid = 0;
    std::string_view name = entry->d_name;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  closedir(folder);
  return pids;
}

bool isInOwnPidNamespace() {
  constexpr ino_t kFirst = 0xEFFFFFFC;  // PROC_PID_INIT_INO: a constant of the kernel
  struct stat own {};
  return stat("/proc/self/ns/pid", &own) == 0 && own.st_ino != kFirst;
}

bool isRunning(uint32_t tgid) {
  std::ifstream file(fmt::format("/proc/{}/stat", tgid), std::ios::binary);
  std::string text;
  std::getline(file, text);
  size_t name = text.rfind(')');
  if (name == std::string::npos || name + 2 >= text.size()) return false;
  return text[name + 2] != 'Z' && text[name + 2] != 'X';
}

}  // namespace tidegauge::record
