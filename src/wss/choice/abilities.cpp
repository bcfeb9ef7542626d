#include "wss/choice/abilities.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/text_layout.h"
#include "wss/choice/choose.h"
#include "wss/pte/page_tables.h"
#include "wss/resctrl/resctrl.h"
#include "wss/surveys/pmc.h"
#include "wss/surveys/spot.h"

namespace tidegauge::wss {
namespace {

std::string_view descriptionOf(std::string_view name) {
  if (name == "pte" && kIsArm64)
    return "page tables: accesses of one process alone, page by page (untested on arm64 hardware)";
  if (name == "pte") return "page tables: accesses of one process alone, page by page";
  if (name == "smaps")
    return "/proc/PID/smaps: sums per mapping; includes accesses of other processes that share it";
  if (name == "mglru") return "the kernel's generations of pages (MGLRU): sums of a whole cgroup";
  if (name == "damon")
    return "regions that the kernel samples (DAMON): for processes of any size and for hours";
  if (name == "idle") return "/sys/kernel/mm/page_idle: pages that no process touched";
  if (name == "write") return "soft-dirty bits: which pages were written";
  if (name == "pressure")
    return "the kernel's statistics of memory pressure; no number of bytes per process";
  if (name == "pmc") return "the processor's counters: whether the working set fits a cache";
  if (name == "spot")
    return "watches random addresses with hardware breakpoints: how much of a page is used";
  if (name == "resctrl") return "how much of the last-level cache the process occupies (resctrl)";
  if (name == "shrink")
    return "experiment: reclaims memory of a cgroup until the program reads it back";
  return {};
}

// Whether there is any cgroup that can be shrunk.
base::Status checkShrink() {
  std::error_code unused;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/fs/cgroup", unused)) {
    std::filesystem::path file = entry.path() / "memory.reclaim";
    if (!std::filesystem::exists(file, unused)) continue;
    if (access(file.c_str(), W_OK) == 0) return base::okStatus();
    return base::Error{base::ErrorKind::kMissingFeature, file.string() + " may not be written",
                       std::nullopt, "Run as root"};
  }
  return base::Error{base::ErrorKind::kMissingFeature,
                     "no cgroup of version 2 on this machine has memory.reclaim", std::nullopt,
                     "It needs the memory controller and Linux 5.19 or later"};
}

base::Status checkSurvey(std::string_view name) {
  if (name == "pmc") return Pmc::check();
  if (name == "spot") return Spot::check();
  if (name == "resctrl") return Resctrl::check();
  return name == "shrink" ? checkShrink() : base::okStatus();
}

}  // namespace

std::vector<Ability> lookAtBackends() {
  std::vector<Ability> abilities;
  abilities.reserve(std::size(kBackends) + std::size(kSurveys));
  for (std::string_view name : kBackends)
    abilities.push_back({name, descriptionOf(name), checkBackend(name)});
  for (std::string_view name : kSurveys)
    abilities.push_back({name, descriptionOf(name), checkSurvey(name)});
  return abilities;
}

std::string_view firstOf(const std::vector<Ability>& abilities) {
  auto pte = std::find_if(abilities.begin(), abilities.end(),
                          [](const Ability& it) { return it.name == "pte" && it.status.ok(); });
  return pte == abilities.end() ? "smaps" : pte->name;
}

std::string abilitiesText(const std::vector<Ability>& abilities, size_t columns) {
  constexpr size_t kVerdict = 9, kName = 9;  // the same as in doctor
  std::string text;
  for (const Ability& it : abilities) {
    std::string words(it.tells);
    if (!it.status.ok()) {
      words += ". Not available: " + it.status.error().what;
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
