#include "wss/abilities.h"

#include <algorithm>

#include "base/text_layout.h"
#include "wss/choose.h"

namespace tidegauge::wss {
namespace {

std::string_view whatItTells(std::string_view name) {
  if (name == "pte") return "page tables: one process's own touches, page by page";
  if (name == "smaps") return "/proc/PID/smaps: sums per mapping, of all who map it";
  if (name == "mglru") return "the kernel's generations of pages: a whole cgroup";
  if (name == "damon") return "regions that the kernel samples: a process of any size, for hours";
  if (name == "idle") return "/sys/kernel/mm/page_idle: pages that nobody touched";
  return {};
}

}  // namespace

std::vector<Ability> lookAtBackends() {
  std::vector<Ability> abilities;
  for (std::string_view name : kBackends)
    abilities.push_back({name, whatItTells(name), checkBackend(name)});
  return abilities;
}

std::string_view firstOf(const std::vector<Ability>& abilities) {
  auto pte = std::find_if(abilities.begin(), abilities.end(),
                          [](const Ability& it) { return it.name == "pte" && it.status.ok(); });
  return pte == abilities.end() ? "smaps" : pte->name;
}

std::string abilitiesText(const std::vector<Ability>& abilities, size_t columns) {
  constexpr size_t kVerdict = 9, kName = 8;  // as in doctor
  std::string text;
  for (const Ability& it : abilities) {
    std::string words(it.tells);
    if (!it.status.ok()) {
      words += ". Not here: " + it.status.error().what;
      if (!it.status.error().hint.empty()) words += ". " + it.status.error().hint;
    }
    std::string lines = base::wrapped(base::printable(words), columns, kVerdict + kName);
    text += base::padRight(it.status.ok() ? "ok" : "no", kVerdict) +
            base::padRight(it.name, kName) + lines.substr(kVerdict + kName);
  }
  return text;
}

nlohmann::json abilitiesJson(const std::vector<Ability>& abilities) {
  nlohmann::json all = nlohmann::json::array();
  for (const Ability& it : abilities)
    all.push_back({{"backend", it.name},
                   {"works", it.status.ok()},
                   {"tells", it.tells},
                   {"why_not", it.status.ok() ? "" : it.status.error().what},
                   {"remedy", it.status.ok() ? "" : it.status.error().hint}});
  return all;
}

}  // namespace tidegauge::wss
