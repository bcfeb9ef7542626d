// ways: resctrl with --experiment --ways. Allows a process fewer and fewer ways of the last-level
// cache, and watches how much more it then reads from memory:
//
//   ways  cache(MB)   memory(MB/s)
//     16      32.0          210
//      …
//      7      14.0          215
//      6      12.0          880    what it uses of the cache does not fit 6 ways
//
// The process is slower meanwhile. Its threads are in a group of their own, which is removed at the
// end. **Not tried on hardware.** Source: Documentation/filesystems/resctrl.rst, "Cache
// Allocation".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wss/machine/machine.h"
#include "wss/resctrl/resctrl_group.h"
#include "wss/surveys/survey.h"

namespace tidegauge::wss {

struct WaysStep {
  uint32_t ways = 0;
  std::optional<uint64_t> occupancy = std::nullopt;
  double traffic = 0;  // bytes per second
};

// The fewest ways with which it reads about as much from memory as with all: at most a quarter
// more, and 1 MiB/s. `steps`: from all ways down. Absent: there is no step.
std::optional<uint32_t> waysEnough(const std::vector<WaysStep>& steps);

class Ways final : public Survey {
 public:
  // Errors: as of resctrl; memory traffic is not counted; ways cannot be limited, or are already:
  // of the process, or of all processes.
  static base::Result<Ways> open(const Process& process, std::unique_ptr<ResctrlFiles> files,
                                 const ResctrlPlace& place, const Machine& machine);
  SurveyHead head(int64_t window_ns) const override;
  base::Result<std::optional<SurveyRow>> next(Clock& clock, int64_t window_ns) override;
  SurveyVerdict verdict() const override;

 private:
  Ways(const Process& process, std::unique_ptr<ResctrlFiles> files, uint32_t all, uint32_t least,
       uint64_t way_bytes)
      : process_(process),
        files_(std::move(files)),
        all_(all),
        least_(least),
        way_bytes_(way_bytes) {}
  std::string sentences() const;

  const Process& process_;
  std::unique_ptr<ResctrlFiles> files_;  // outlives the group
  std::optional<ResctrlGroup> group_;    // since the first window
  uint32_t all_, least_;
  uint64_t way_bytes_;  // 0: unknown
  std::vector<WaysStep> steps_;
};

}  // namespace tidegauge::wss
