#include "wss/words/cache_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/text_layout.h"
#include "wss/units.h"

namespace tidegauge::wss {

std::string cacheText(const CacheUse& use, size_t top, size_t columns) {
  if (!use.problem.empty())
    return base::wrapped("The page cache was not measured: " + base::printable(use.problem) + ".",
                         columns, 0, 2);
  std::string text = base::wrapped(
      fmt::format("Cgroup {} has {} of page cache that no process maps; {} of it were used in "
                  "{:.3g} s.",
                  base::printable(use.cgroup), base::humanBytes(use.all.bytes),
                  base::humanBytes(use.all.referenced), seconds(use.window_ns)),
      columns, 0, 2);
  if (use.all.bytes == 0) return text;
  constexpr size_t kBefore = 30;
  size_t width = std::max<size_t>(20, columns > kBefore ? columns - kBefore : 0);
  text += fmt::format("{:>10} {:>10} {:>5}  {}\n", "Ref(MB)", "Cached(MB)", "Ref%", "file");
  auto line = [&](const CachedBytes& of_it, const std::string& name) {
    text += fmt::format("{:>10.2f} {:>10.2f} {:>5.1f}  {}\n", mib(of_it.referenced),
                        mib(of_it.bytes), percent(of_it.referenced, of_it.bytes), name);
  };
  CachedBytes rest;
  for (size_t i = 0; i < use.files.size(); ++i) {
    const CacheUse::File& file = use.files[i];
    if (i < top) line(file.of_it, base::cutFolders(base::printable(file.name), width));
    if (i < top) continue;
    rest.bytes += file.of_it.bytes;
    rest.referenced += file.of_it.referenced;
  }
  if (use.files.size() > top)
    line(rest, fmt::format("{} more", base::withCommas(use.files.size() - top)));
  if (use.unnamed.bytes > 0) line(use.unnamed, "files without a name (not open now)");
  return text;
}

nlohmann::json cacheJson(const CacheUse& use) {
  auto bytesOf = [](const CachedBytes& of_it) {
    return nlohmann::json{{"bytes", of_it.bytes}, {"referenced", of_it.referenced}};
  };
  nlohmann::json files = nlohmann::json::array();
  for (const CacheUse::File& file : use.files) {
    files.push_back(bytesOf(file.of_it));
    files.back()["name"] = file.name;
  }
  return {{"cgroup", use.cgroup},
          {"window_s", seconds(use.window_ns)},
          {"cpu_s", seconds(use.cpu_ns)},
          {"bytes", use.all.bytes},
          {"referenced", use.all.referenced},
          {"files", std::move(files)},
          {"unnamed", bytesOf(use.unnamed)},
          {"problem", use.problem.empty() ? nlohmann::json() : nlohmann::json(use.problem)}};
}

}  // namespace tidegauge::wss
