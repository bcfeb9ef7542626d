// resctrl: how much of the last-level cache a process occupies, beside what it touches.
//
//   Time(s)   Ref(MB)  In L3(MB)   Memory(MB/s)
//      1.00     28.02      11.31         1840.2     the rest of what it touches is read from memory
//
// The processor tags each line of the cache with the group that filled it. So the first rows are
// too low: lines that were there before do not count until they are filled again; and a line that
// several processes use counts for the one that filled it. **Not tried on hardware.**
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wss/backends/backend.h"
#include "wss/machine/machine.h"
#include "wss/resctrl/resctrl_group.h"
#include "wss/surveys/survey.h"

namespace tidegauge::wss {

class Resctrl final : public Survey {
 public:
  static base::Status check();
  // `touches` measures Ref. `place`: the groups the process is in.
  static base::Result<Resctrl> open(const Process& process, std::unique_ptr<Backend> touches,
                                    std::unique_ptr<ResctrlFiles> files, ResctrlPlace place,
                                    const Machine& machine);
  SurveyHead head(int64_t window_ns) const override;
  base::Result<std::optional<SurveyRow>> next(Clock& clock, int64_t window_ns) override;
  SurveyVerdict verdict() const override;

 private:
  struct Seen {
    uint64_t referenced = 0;
    bool at_least = false;
    std::optional<uint64_t> occupancy{};
    std::optional<double> traffic{};  // bytes per second
  };
  Resctrl(const Process& process, std::unique_ptr<Backend> touches,
          std::unique_ptr<ResctrlFiles> files, ResctrlPlace place, Machine machine)
      : process_(process),
        touches_(std::move(touches)),
        files_(std::move(files)),
        place_(std::move(place)),
        machine_(std::move(machine)) {}
  std::string sentences() const;

  const Process& process_;
  std::unique_ptr<Backend> touches_;
  std::unique_ptr<ResctrlFiles> files_;  // outlives the group
  ResctrlPlace place_;
  std::optional<ResctrlGroup> group_;  // since the first window
  Machine machine_;
  int64_t watched_ns_ = 0;
  std::optional<Seen> last_;
};

}  // namespace tidegauge::wss
