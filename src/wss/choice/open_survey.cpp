#include "wss/choice/open_survey.h"

#include <algorithm>
#include <random>
#include <utility>

#include "wss/choice/choose.h"
#include "wss/resctrl/resctrl.h"
#include "wss/resctrl/ways.h"
#include "wss/surveys/hold.h"
#include "wss/surveys/pmc.h"
#include "wss/surveys/pressure.h"
#include "wss/surveys/shrink.h"
#include "wss/surveys/spot.h"

namespace tidegauge::wss {
namespace {

using OpenedSurvey = base::Result<std::unique_ptr<Survey>>;

// Below the folder where cgroups are.
base::Result<std::string> cgroupPath(std::string path) {
  constexpr std::string_view kFolder = "/sys/fs/cgroup";
  if (path == kFolder || path.starts_with(std::string(kFolder) + "/"))
    path.erase(0, kFolder.size());
  while (path.ends_with('/')) path.pop_back();
  if (!path.starts_with('/')) path.insert(0, "/");
  if ((path + "/").find("/../") != std::string::npos)
    return base::Error{base::ErrorKind::kUsage, "the path of a cgroup goes up by no ..",
                       std::nullopt, "Give it from /sys/fs/cgroup on"};
  return path;
}

template <class It>
OpenedSurvey opened(base::Result<It> survey) {
  if (!survey.ok()) return survey.error();
  return OpenedSurvey(std::make_unique<It>(std::move(survey).value()));
}

}  // namespace

bool isSurvey(std::string_view backend) {
  return std::ranges::find(kSurveys, backend) != kSurveys.end();
}

OpenedSurvey openSurvey(const SurveyWish& wish, const Process* process) {
  if (wish.name == "pmc") return opened(Pmc::open(*process));
  if (wish.name == "spot")
    return {std::make_unique<Spot>(*process, wish.spots, std::random_device{}())};
  if (wish.name == "resctrl") {
    auto files = std::make_unique<KernelResctrl>();
    if (files->mayWrite()) removeLeftOverGroups(*files);
    TG_ASSIGN_OR_RETURN(ResctrlPlace place, resctrlPlaceOf(*process));
    Machine machine = lookAtMachine(*process);
    if (wish.ways) return opened(Ways::open(*process, std::move(files), place, machine));
    TG_ASSIGN_OR_RETURN(Choice touches, chooseBackend({.sample = "exact"}, *process));
    return opened(
        Resctrl::open(*process, std::move(touches.backend), std::move(files), place, machine));
  }
  if (process != nullptr && wish.name == "pressure")
    return {std::make_unique<Pressure>(*process, MemoryScope::of(*process))};
  MemoryScope scope = process != nullptr ? MemoryScope::of(*process) : MemoryScope::ofCgroup({});
  if (!wish.cgroup.empty()) {
    TG_ASSIGN_OR_RETURN(std::string path, cgroupPath(wish.cgroup));
    scope = MemoryScope::ofCgroup(std::move(path));
  }
  TG_ASSIGN_OR_RETURN(Reclaimer reclaimer,
                      Reclaimer::open(std::move(scope), wish.most_stalled_percent));
  if (wish.held_percent) return {std::make_unique<Hold>(std::move(reclaimer), *wish.held_percent)};
  return {std::make_unique<Shrink>(std::move(reclaimer))};
}

}  // namespace tidegauge::wss
