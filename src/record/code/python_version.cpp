#include "record/code/python_version.h"

namespace tidegauge::record {

std::string pythonVersion(std::string_view path) {
  std::string_view file = path.substr(path.find_last_of('/') + 1);
  if (file.starts_with("lib")) file.remove_prefix(3);
  if (!file.starts_with("python")) return {};
  std::string_view version = file.substr(6);
  size_t dot = version.find('.');
  if (dot != 1 || version[0] < '2' || version[0] > '3') return {};
  size_t end = dot + 1;
  while (end < version.size() && end < dot + 3 && version[end] >= '0' && version[end] <= '9') ++end;
  if (end == dot + 1) return {};
  // "python3.11", "libpython3.11.so.1.0", "libpython3.7m.so", but no helpers such as
  // python3.11-config.
  std::string_view rest = version.substr(end);
  while (!rest.empty() && (rest[0] == 'm' || rest[0] == 'd' || rest[0] == 'u'))
    rest.remove_prefix(1);
  if (!rest.empty() && !rest.starts_with(".so")) return {};
  return std::string(version.substr(0, end));
}

}  // namespace tidegauge::record
