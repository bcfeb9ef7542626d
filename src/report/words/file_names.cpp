#include "report/words/file_names.h"

#include <algorithm>
#include <map>

namespace tidegauge::report {

std::string lastParts(const std::string& path, size_t parts) {
  size_t begin = path.size();
  while (parts > 0 && begin != std::string::npos && begin > 0) {
    begin = path.rfind('/', begin - 1);
    --parts;
  }
  bool whole = begin == std::string::npos || begin + 1 >= path.size();
  return whole ? path : path.substr(begin + 1);
}

std::vector<std::string> distinctNames(const std::vector<std::string>& paths) {
  constexpr size_t kMaxParts = 64;
  std::vector<size_t> parts(paths.size(), 1);
  std::vector<std::string> names = paths;
  for (size_t round = 0; round < kMaxParts; ++round) {
    // Equal names of different paths get one more part each.
    std::map<std::string, std::vector<size_t>> same;
    for (size_t i = 0; i < paths.size(); ++i) {
      names[i] = lastParts(paths[i], parts[i]);
      same[names[i]].push_back(i);
    }
    bool settled = true;
    for (const auto& [name, files] : same) {
      bool differ = std::any_of(files.begin(), files.end(), [&, first = files.front()](size_t i) {
        return paths[i] != paths[first];
      });
      if (!differ) continue;
      settled = false;
      for (size_t i : files) ++parts[i];
    }
    if (settled) break;
  }
  std::map<std::string, size_t> seen;
  for (std::string& name : names) {
    if (size_t count = ++seen[name]; count > 1) name += " (" + std::to_string(count) + ")";
  }
  return names;
}

}  // namespace tidegauge::report
