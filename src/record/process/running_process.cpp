#include "record/process/running_process.h"

#include <dirent.h>
#include <fcntl.h>
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

std::string textOf(uint32_t tgid, uint64_t address, size_t most) {
  int memory = open(fmt::format("/proc/{}/mem", tgid).c_str(), O_RDONLY | O_CLOEXEC);
  if (memory < 0) return {};
  std::string text(most, '\0');
  ssize_t got = pread(memory, text.data(), most, static_cast<off_t>(address));
  close(memory);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  size_t end = text.find('\0');
  if (end == std::string::npos && text.size() < most) return {};  // it leaves what is readable
  if (end != std::string::npos) text.resize(end);
  return text;
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
