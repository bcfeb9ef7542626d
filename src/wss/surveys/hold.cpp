#include "wss/surveys/hold.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/format.h"
#include "base/text_layout.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

constexpr double kMostPart = 0.01;
constexpr uint64_t kMinTaken = 256U << 10;
constexpr size_t kMaxWindows = 1'000'000;

}  // namespace

uint64_t bytesToTake(uint64_t bytes, double stalled, double wanted) {
  if (stalled >= wanted) return 0;
  double part = kMostPart * (1 - stalled / wanted);
  return static_cast<uint64_t>(static_cast<double>(bytes) * part);
}

std::optional<Held> heldIn(const std::vector<ReclaimStep>& steps, double wanted) {
  auto waits = [&](const ReclaimStep& step) { return step.stalled_percent.value_or(0) >= wanted; };
  auto first = std::ranges::find_if(steps, waits);
  if (first == steps.end()) return std::nullopt;
  Held held{.least_bytes = UINT64_MAX};
  double bytes = 0;
  for (auto step = first; step != steps.end(); ++step) {
    held.windows += 1;
    held.least_bytes = std::min(held.least_bytes, step->after);
    held.most_bytes = std::max(held.most_bytes, step->after);
    bytes += static_cast<double>(step->after);
    held.stalled_percent += step->stalled_percent.value_or(0);
  }
  held.mean_bytes = static_cast<uint64_t>(bytes / static_cast<double>(held.windows));
  held.stalled_percent /= static_cast<double>(held.windows);
  return held;
}

SurveyHead Hold::head(int64_t window_ns) const {
  return {.name = "shrink",
          .how = fmt::format("reclaims the memory of cgroup {}, up to 1 % every {:g} s, until its "
                             "tasks wait for memory for {:g} % of the time (memory.reclaim)",
                             base::printable(reclaimer_.cgroup()), seconds(window_ns), wanted_),
          .limits = reclaimer_.limits(),
          .table_head = std::string(kReclaimTableHead),
          .ends_with_result = true};
}

bool Hold::isTooMuch() const {
  return !steps_.empty() && steps_.back().stalled_percent.value_or(0) > reclaimer_.mostStalled();
}

base::Result<std::optional<SurveyRow>> Hold::next(Clock& clock, int64_t window_ns) {
  window_ns_ = window_ns;
  if (steps_.size() == kMaxWindows || isTooMuch() || clock.isEnding())
    return std::optional<SurveyRow>();
  double stalled = steps_.empty() ? 0 : steps_.back().stalled_percent.value_or(0);
  TG_ASSIGN_OR_RETURN(uint64_t now, reclaimer_.inMemory());
  uint64_t part = bytesToTake(now, stalled, wanted_);
  due_ = part == 0 ? 0 : due_ + part;
  uint64_t bytes = due_ < kMinTaken ? 0 : std::exchange(due_, 0);
  TG_ASSIGN_OR_RETURN(auto step, reclaimer_.step(bytes, clock, window_ns));
  if (!step) return std::optional<SurveyRow>();
  steps_.push_back(*step);
  return std::optional(rowOf(*step, steps_.size()));
}

std::string Hold::sentences() const {
  if (steps_.empty()) return {};
  std::string before = base::humanBytes(steps_.front().before);
  std::optional<Held> held = heldIn(steps_, wanted_);
  if (isTooMuch())
    return fmt::format(
        "The experiment ended, because the cgroup waited for memory for {:.1f} % of the time, more "
        "than --max-pressure {:g} %. It had {} then, and {} at the beginning.\n",
        *steps_.back().stalled_percent, reclaimer_.mostStalled(),
        base::humanBytes(steps_.back().after), before);
  if (held)
    return fmt::format(
        "The cgroup held {} on average ({} to {}) in the last {} windows of {:g} s, in which "
        "its tasks waited for memory for {:.2f} % of the time (wanted: {:g} %). It had {} at the "
        "beginning.\n",
        base::humanBytes(held->mean_bytes), base::humanBytes(held->least_bytes),
        base::humanBytes(held->most_bytes), held->windows, seconds(window_ns_),
        held->stalled_percent, wanted_, before);
  constexpr size_t kLastOnes = 10;  // a cgroup may grow in one as much as was reclaimed
  auto last = std::span(steps_).last(std::min(kLastOnes, steps_.size()));
  bool is_stuck =
      std::ranges::all_of(last, [](const ReclaimStep& step) { return step.taken < kMinTaken / 2; });
  return fmt::format(
      "Its tasks never waited for memory for {:g} % of the time, so less than {} may be enough. "
      "The cgroup had {} at the beginning. {}\n",
      wanted_, base::humanBytes(steps_.back().after), before,
      !is_stuck              ? "A longer -d shows more."
      : reclaimer_.hasSwap() ? "No more memory can be reclaimed."
                             : "No more memory can be reclaimed, because there is no swap.");
}

SurveyVerdict Hold::verdict() const {
  nlohmann::json held_json;
  if (auto held = heldIn(steps_, wanted_))
    held_json = {{"mean_bytes", held->mean_bytes},
                 {"least_bytes", held->least_bytes},
                 {"most_bytes", held->most_bytes},
                 {"stalled_percent", held->stalled_percent},
                 {"windows", held->windows}};
  SurveyVerdict verdict{.text = sentences(),
                        .fields = {{"cgroup", reclaimer_.cgroup()},
                                   {"end", isTooMuch() ? "pressure" : "ended"},
                                   {"window_s", seconds(window_ns_)},
                                   {"wanted_percent", wanted_},
                                   {"held", held_json},
                                   {"has_swap", reclaimer_.hasSwap()}}};
  if (isTooMuch()) verdict.broken = Reclaimer::stalledTooLong();
  return verdict;
}

}  // namespace tidegauge::wss
