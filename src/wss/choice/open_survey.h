// Opens the survey that was asked for: of a process, or of a cgroup.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wss/process/process.h"
#include "wss/surveys/survey.h"

namespace tidegauge::wss {

struct SurveyWish {
  std::string name{};    // one of kSurveys
  uint32_t spots = 200;  // spot: words to watch
  bool ways = false;     // resctrl: the experiment with fewer and fewer ways
  // shrink: the share of the time that the cgroup may wait for memory.
  double most_stalled_percent = 10;
  // shrink: holds it where it waits for this share of the time; absent: shrinks it to the end.
  std::optional<double> held_percent{};
  // shrink: as /proc/PID/cgroup has it, or with the folder where cgroups are. Empty: the process's.
  std::string cgroup{};
};

bool isSurvey(std::string_view backend);

// `process` must outlive it; nullptr: only of shrink, with a cgroup.
base::Result<std::unique_ptr<Survey>> openSurvey(const SurveyWish& wish, const Process* process);

}  // namespace tidegauge::wss
