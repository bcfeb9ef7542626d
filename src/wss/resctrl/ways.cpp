#include "wss/resctrl/ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/format.h"
#include "base/text_layout.h"
#include "wss/process/kernel_file.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

constexpr double kMore = 1.25;
constexpr double kNoiseBytesPerSecond = 1 << 20;

std::optional<uint64_t> numberIn(const ResctrlFiles& files, const char* path, int base) {
  auto text = files.read(path);
  uint64_t value = 0;
  if (!text ||
      std::from_chars(text->data(), text->data() + text->size(), value, base).ec != std::errc())
    return std::nullopt;
  return value;
}

}  // namespace

std::optional<uint32_t> waysEnough(const std::vector<WaysStep>& steps) {
  if (steps.empty()) return std::nullopt;
  double most = steps.front().traffic * kMore + kNoiseBytesPerSecond;
  uint32_t enough = steps.front().ways;
  for (const WaysStep& step : steps) {
    if (step.traffic > most) break;
    enough = step.ways;
  }
  return enough;
}

base::Result<Ways> Ways::open(const Process& process, std::unique_ptr<ResctrlFiles> files,
                              const ResctrlPlace& place, const Machine& machine) {
  TG_ASSIGN_OR_RETURN(ResctrlFeatures features, featuresOf(*files));
  if (!features.traffic)
    return missingFeature("this processor does not count memory traffic (mbm_total_bytes)",
                          "Without it nothing shows whether fewer ways are enough. --backend "
                          "resctrl without --ways reports the occupancy");
  auto mask = numberIn(*files, "info/L3/cbm_mask", 16);
  if (!mask || *mask == 0)
    return missingFeature("resctrl cannot limit the ways of the last-level cache here",
                          "It needs cat_l3 in /proc/cpuinfo, and a mount without -o cdp");
  if (!place.control.empty())
    return missingFeature(
        fmt::format("process {} is in group {} of resctrl, whose limits --ways would lift",
                    process.pid(), base::printable(place.control)),
        "--backend resctrl without --ways works there");
  auto ways = waysOf(*files, "");
  bool is_whole = std::ranges::all_of(ways, [&](const auto& one) { return one.second == *mask; });
  if (ways.empty() || !is_whole)
    return missingFeature("not all ways of the last-level cache are free for all processes",
                          "--ways begins with all of them. See /sys/fs/resctrl/schemata");
  TG_RETURN_IF_ERROR(checkNotMonitored(process, place));
  auto all = static_cast<uint32_t>(std::popcount(*mask));
  auto least = static_cast<uint32_t>(
      std::clamp<uint64_t>(numberIn(*files, "info/L3/min_cbm_bits", 10).value_or(1), 1, all));
  return Ways(process, std::move(files), all, least, machine.l3_bytes / all);
}

SurveyHead Ways::head(int64_t window_ns) const {
  return {
      .name = "resctrl",
      .how = fmt::format("allows the process fewer and fewer ways of the last-level cache, from "
                         "{} to {}, and watches its memory traffic",
                         all_, least_),
      .limits = {"the process is slower meanwhile; at the end its threads go back to their group",
                 "this was never tried on a processor that has resctrl"},
      .table_head = " Ways  Cache(MB)  In L3(MB)  Memory(MB/s)\n",
      .lasts = fmt::format("{:g} s", seconds(window_ns) * (all_ - least_ + 1)),
      .ends_with_result = true};
}

base::Result<std::optional<SurveyRow>> Ways::next(Clock& clock, int64_t window_ns) {
  auto ways = static_cast<uint32_t>(all_ - steps_.size());
  if (steps_.size() > all_ - least_ || clock.isEnding()) return std::optional<SurveyRow>();
  TG_RETURN_IF_ERROR(process_.check());
  if (!group_) {
    TG_RETURN_IF_ERROR(process_.claim());
    TG_ASSIGN_OR_RETURN(ResctrlGroup group,
                        ResctrlGroup::make(*files_, process_, {}, ResctrlGroup::Kind::kControl));
    group_.emplace(std::move(group));
  }
  TG_RETURN_IF_ERROR(group_->setWays(ways >= 64 ? ~uint64_t{0} : (uint64_t{1} << ways) - 1));
  // Half of the window for what no longer fits to leave the cache.
  clock.sleep(window_ns / 2);
  std::optional<uint64_t> before = group_->traffic();
  int64_t began_ns = clock.now_ns();
  clock.sleep(window_ns - window_ns / 2);
  if (clock.isEnding()) return std::optional<SurveyRow>();
  std::optional<uint64_t> now = group_->traffic();
  auto took_ns = static_cast<double>(std::max<int64_t>(1, clock.now_ns() - began_ns));
  TG_RETURN_IF_ERROR(process_.check());
  if (!before || !now || *now < *before)
    return unreadable("the processor stopped counting the memory traffic of the process",
                      "Try again");
  WaysStep step{.ways = ways,
                .occupancy = group_->occupancy(),
                .traffic = static_cast<double>(*now - *before) * 1e9 / took_ns};
  steps_.push_back(step);
  SurveyRow row;
  row.text = fmt::format("{:>5} {:>10} {:>10} {:13.2f}\n", ways,
                         way_bytes_ > 0 ? fmt::format("{:.2f}", mib(way_bytes_ * ways)) : "-",
                         step.occupancy ? fmt::format("{:.2f}", mib(*step.occupancy)) : "-",
                         step.traffic / (1 << 20));
  row.fields = {{"ways", ways},
                {"cache_bytes", nullptr},
                {"llc_bytes", nullptr},
                {"memory_bytes_per_s", step.traffic}};
  if (way_bytes_ > 0) row.fields["cache_bytes"] = way_bytes_ * ways;
  if (step.occupancy) row.fields["llc_bytes"] = *step.occupancy;
  return std::optional(std::move(row));
}

std::string Ways::sentences() const {
  auto enough = waysEnough(steps_);
  if (!enough) return {};
  auto named = [&](uint32_t ways) {
    std::string words = fmt::format("{} of {} ways", ways, all_);
    if (way_bytes_ > 0) words += fmt::format(" ({})", base::humanBytes(way_bytes_ * ways));
    return words;
  };
  if (*enough == steps_.back().ways)
    return fmt::format(
        "With {} its memory traffic is about that with all of them. So it uses no more of the "
        "last-level cache, or far more than all ways hold.\n",
        named(*enough));
  const WaysStep& less = steps_.at(all_ - *enough + 1);
  double all_traffic = steps_.front().traffic;
  std::string more = fmt::format("{}/s", base::humanBytes(static_cast<uint64_t>(less.traffic)));
  if (all_traffic > kNoiseBytesPerSecond)
    more += fmt::format(", {:.1f} times as much", less.traffic / all_traffic);
  return fmt::format(
      "With {} its memory traffic is about that with all of them ({}/s); with {} it is {}.\n",
      named(*enough), base::humanBytes(static_cast<uint64_t>(all_traffic)), less.ways, more);
}

SurveyVerdict Ways::verdict() const {
  nlohmann::json fields = {{"ways", all_}, {"ways_enough", nullptr}, {"enough_bytes", nullptr}};
  if (auto enough = waysEnough(steps_)) {
    fields["ways_enough"] = *enough;
    if (way_bytes_ > 0) fields["enough_bytes"] = way_bytes_ * *enough;
  }
  return {.text = sentences(), .fields = std::move(fields)};
}

}  // namespace tidegauge::wss
