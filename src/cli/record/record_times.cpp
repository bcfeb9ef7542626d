#include "cli/record/record_times.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "base/format.h"
#include "base/text_layout.h"
#include "cli/options/output.h"
#include "cli/options/usage.h"
#include "record/times/times_cost.h"
#include "record/times/times_reader.h"

namespace tidegauge::cli {
namespace {

void sayCost() {
  double ns = record::handlingCost_ns();
  std::string own = ns > 0
                        ? fmt::format("costs {:.0f} ns on a CUPTI thread (measured just now)", ns)
                        : "costs a time that could not be measured";
  complain(fmt::format(
      "tidegauge: with --device-times, each kernel, copy or set {}. CUPTI's own cost comes on top: "
      "time per launch, and memory of each device that no call shows. It depends on the driver and "
      "is not known here. A profiler inside the program (torch.profiler) uses CUPTI, "
      "too: they disturb each other.",
      own));
}

}  // namespace

base::Status RecordTimes::prepare(const RecordOptions& options, record::ChildSettings& settings) {
  if (!options.device_times) return base::okStatus();
  if (std::string before = record::variableOf(settings, record::kInjectionVariable);
      !before.empty()) {
    complain(fmt::format(
        "tidegauge: {} is set already, to {}, and stays so: device times are not recorded. Unset "
        "it to record them.",
        record::kInjectionVariable, base::printable(before)));
    return base::okStatus();
  }
  sayCost();
  auto area = record::TimesArea::make(settings.user);
  if (!area.ok()) return std::move(area.error());
  area_.emplace(std::move(area.value()));
  for (std::string& variable : area_->environment()) settings.more.push_back(std::move(variable));
  return base::okStatus();
}

void RecordTimes::give(record::Session& session) {
  if (!area_) return;
  session.takeTimes(record::TimesReader(std::move(*area_)));
  area_.reset();
}

void RecordTimes::sayEnd(const record::Session& session) {
  const record::SessionTimes& times = session.times();
  if (!times.isOn()) return;
  if (uint64_t count = times.activities(); count > 0)
    complain(
        fmt::format("tidegauge: {} timed by the device (kernels, copies and sets)",
                    count == 1 ? "1 activity was" : base::withCommas(count) + " activities were"));
  else if (times.programs() == 0)
    complain(
        "tidegauge: no device times: no program loaded the library of --device-times. The CUDA "
        "driver loads it at cuInit(); a program that runs with other rights (setuid), or that was "
        "started without CUDA_INJECTION64_PATH, does not.");
  for (const std::string& problem : times.problems())
    complain("tidegauge: no device times of " + problem);
  record::TimesLosses losses = times.losses();
  for (size_t i = 0; i < losses.size(); ++i)
    if (losses[i] > 0)
      complain(fmt::format("tidegauge: incomplete: {} × {}", base::withCommas(losses[i]),
                           record::timesLossReason(static_cast<record::TimesLoss>(i))));
}

}  // namespace tidegauge::cli
