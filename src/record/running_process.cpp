#include "record/running_process.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

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

bool isInOwnPidNamespace() {
  constexpr ino_t kFirst = 0xEFFFFFFC;  // PROC_PID_INIT_INO: the kernel's own, always
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
