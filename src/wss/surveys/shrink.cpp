#include "wss/surveys/shrink.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/text_layout.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

constexpr uint64_t kPart = 20;  // a step takes this fraction
// smaller ones are lost in the batches of the kernel's accounting
constexpr uint64_t kMinStep = 1U << 20;
constexpr size_t kMaxSteps = 200;
constexpr double kBack = 0.5;  // of the reclaimed bytes
constexpr int kTimes = 2;      // in a row

std::string_view nameOf(ShrinkEnd end) {
  switch (end) {
    case ShrinkEnd::kReached:
      return "reached";
    case ShrinkEnd::kGrew:
      return "grew";
    case ShrinkEnd::kNothingLeft:
      return "nothing_left";
    case ShrinkEnd::kPressure:
      return "pressure";
    case ShrinkEnd::kGoesOn:
      break;
  }
  return "ended_early";
}

bool isMost(uint64_t bytes, uint64_t of) {
  return of != 0 && static_cast<double>(bytes) >= kBack * static_cast<double>(of);
}
bool cameBack(const ReclaimStep& step) { return isMost(step.refaulted, step.taken); }
// The reclaimed amount is filled again, by refaults or by new memory.
bool isFilled(const ReclaimStep& step) {
  return cameBack(step) ||
         isMost(lessThan(lessThan(step.taken, step.before), step.after), step.taken);
}

}  // namespace

ShrinkEnd endOf(const std::vector<ReclaimStep>& steps, double most_stalled) {
  if (steps.empty()) return ShrinkEnd::kGoesOn;
  const ReclaimStep& last = steps.back();
  if (last.stalled_percent && *last.stalled_percent > most_stalled) return ShrinkEnd::kPressure;
  // First: if all remaining memory is in use, the kernel hardly finds anything to reclaim.
  auto lastOnes = [&](bool (*are)(const ReclaimStep&)) {
    return steps.size() >= kTimes && std::all_of(steps.end() - kTimes, steps.end(), are);
  };
  if (lastOnes(cameBack)) return ShrinkEnd::kReached;
  if (lastOnes(isFilled)) return ShrinkEnd::kGrew;
  return last.taken < kMinStep / 4 ? ShrinkEnd::kNothingLeft : ShrinkEnd::kGoesOn;
}

SurveyHead Shrink::head(int64_t /*window_ns*/) const {
  return {.name = "shrink",
          .how = fmt::format(
              "reclaims the memory of cgroup {}, one twentieth at a time (memory.reclaim)",
              base::printable(reclaimer_.cgroup())),
          .limits = reclaimer_.limits(),
          .table_head = std::string(kReclaimTableHead),
          .ends_with_result = true};
}

base::Result<std::optional<SurveyRow>> Shrink::next(Clock& clock, int64_t window_ns) {
  window_ns_ = window_ns;
  if (steps_.size() == kMaxSteps || end() != ShrinkEnd::kGoesOn || clock.isEnding())
    return std::optional<SurveyRow>();
  TG_ASSIGN_OR_RETURN(uint64_t now, reclaimer_.inMemory());
  TG_ASSIGN_OR_RETURN(auto step,
                      reclaimer_.step(std::max(now / kPart, kMinStep), clock, window_ns));
  if (!step) return std::optional<SurveyRow>();
  steps_.push_back(*step);
  return std::optional(rowOf(*step, steps_.size()));
}

uint64_t Shrink::needed() const {
  uint64_t least = UINT64_MAX;
  for (const ReclaimStep& step : steps_) least = std::min(least, step.after);
  return least;
}

std::string Shrink::sentences() const {
  if (steps_.empty()) return {};
  std::string least = base::humanBytes(needed());
  double window_s = seconds(window_ns_);
  switch (end()) {
    case ShrinkEnd::kReached:
      return fmt::format(
          "Reclaimed memory is read back, so the working set is at most {} in {:g} s. Of {} at "
          "the beginning, {} was not needed.\n",
          least, window_s, base::humanBytes(steps_.front().before),
          base::humanBytes(lessThan(needed(), steps_.front().before)));
    case ShrinkEnd::kGrew:
      return fmt::format(
          "The cgroup allocates as much new memory as was reclaimed, so its working set is "
          "unknown while it grows. It had {} at the beginning, and at least {}.\n",
          base::humanBytes(steps_.front().before), least);
    case ShrinkEnd::kNothingLeft:
      return fmt::format(
          "No more memory can be reclaimed. The working set is at most {} in {:g} s; a lower "
          "bound is unknown{}.\n",
          least, window_s, reclaimer_.hasSwap() ? "" : ", because there is no swap");
    case ShrinkEnd::kPressure:
      return fmt::format(
          "The experiment ended, because the cgroup waited for memory for {:.1f} % of the time, "
          "more than --max-pressure {:g} %. The working set is {} or more in {:g} s.\n",
          *steps_.back().stalled_percent, reclaimer_.mostStalled(), least, window_s);
    case ShrinkEnd::kGoesOn:
      break;
  }
  return fmt::format(
      "The experiment ended early. {} were enough in {:g} s; it is unknown whether less would be "
      "enough.\n",
      least, window_s);
}

SurveyVerdict Shrink::verdict() const {
  ShrinkEnd how = end();
  SurveyVerdict verdict{
      .text = sentences(),
      .fields = {{"cgroup", reclaimer_.cgroup()},
                 {"end", nameOf(how)},
                 {"window_s", seconds(window_ns_)},
                 {"least_bytes", steps_.empty() ? nlohmann::json() : nlohmann::json(needed())},
                 {"has_swap", reclaimer_.hasSwap()}}};
  if (how == ShrinkEnd::kPressure) verdict.broken = Reclaimer::stalledTooLong();
  return verdict;
}

}  // namespace tidegauge::wss
