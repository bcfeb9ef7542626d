#include "wss/resctrl/resctrl.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "wss/measure/measure.h"
#include "wss/units.h"

namespace tidegauge::wss {

base::Status Resctrl::check() {
  auto features = featuresOf(KernelResctrl());
  if (!features.ok()) return std::move(features.error());
  return base::okStatus();
}

base::Result<Resctrl> Resctrl::open(const Process& process, std::unique_ptr<Backend> touches,
                                    std::unique_ptr<ResctrlFiles> files, ResctrlPlace place,
                                    const Machine& machine) {
  auto features = featuresOf(*files);
  if (!features.ok()) return std::move(features.error());
  return Resctrl(process, std::move(touches), std::move(files), std::move(place), machine);
}

SurveyHead Resctrl::head(int64_t /*window_ns*/) const {
  return {
      .name = "resctrl",
      .how = fmt::format("occupancy of the last-level cache by resctrl, beside what {} reports "
                         "as touched ({})",
                         touches_->name(), touches_->how()),
      .limits = {"lines that were in the cache before count only when they are filled again, so "
                 "the first rows are too low",
                 "this was never tried on a processor that has resctrl"},
      .table_head = "Time(s)    Ref(MB)  In L3(MB)  Memory(MB/s)\n"};
}

base::Result<std::optional<SurveyRow>> Resctrl::next(Clock& clock, int64_t window_ns) {
  if (!group_) {
    TG_ASSIGN_OR_RETURN(ResctrlGroup group, ResctrlGroup::make(*files_, process_, place_,
                                                               ResctrlGroup::Kind::kMonitor));
    group_.emplace(std::move(group));
  }
  MeanwhileWatch watch(process_);
  int64_t began_ns = clock.now_ns();
  std::optional<uint64_t> traffic = group_->traffic();
  Seen seen;
  bool is_measured = false;
  auto onRow = [&](const Row& row) {
    Touched touched = touchedIn(row);
    seen.referenced = touched.bytes;
    seen.at_least = isAtLeast(row);
    is_measured = true;
    return true;
  };
  TG_RETURN_IF_ERROR(
      measure(process_, *touches_, {.duration_ns = window_ns}, clock, onRow, &watch));
  if (!is_measured) return std::optional<SurveyRow>();
  int64_t took_ns = std::max<int64_t>(1, clock.now_ns() - began_ns);
  seen.occupancy = group_->occupancy();
  if (auto now = group_->traffic(); now && traffic && *now >= *traffic)
    seen.traffic = static_cast<double>(*now - *traffic) * 1e9 / static_cast<double>(took_ns);
  watched_ns_ += took_ns;
  SurveyRow row;
  auto mibOf = [](std::optional<double> bytes) {
    return bytes ? fmt::format("{:.2f}", *bytes / (1 << 20)) : std::string("-");
  };
  row.text = fmt::format("{:7.2f} {:>10} {:>10} {:>13}\n", seconds(watched_ns_),
                         mibOf(static_cast<double>(seen.referenced)) + (seen.at_least ? "+" : ""),
                         mibOf(seen.occupancy), mibOf(seen.traffic));
  row.fields = {{"window_s", seconds(took_ns)},
                {"referenced_bytes", seen.referenced},
                {"at_least", seen.at_least},
                {"llc_bytes", nullptr},
                {"memory_bytes_per_s", jsonOf(seen.traffic)}};
  if (seen.occupancy) row.fields["llc_bytes"] = *seen.occupancy;
  last_ = seen;
  return std::optional(std::move(row));
}

std::string Resctrl::sentences() const {
  if (!last_) return {};
  if (!last_->occupancy)
    return "The processor did not report how much of the last-level cache the process occupies.\n";
  std::string words = fmt::format("{} of the last-level cache were filled by the process",
                                  base::humanBytes(*last_->occupancy));
  if (machine_.l3_bytes > 0)
    words += fmt::format(" (each L3 has {})", base::humanBytes(machine_.l3_bytes));
  return words + fmt::format("; it touched {}{} in the last window.\n",
                             last_->at_least ? "at least " : "",
                             base::humanBytes(last_->referenced));
}

SurveyVerdict Resctrl::verdict() const {
  nlohmann::json fields = {{"group", group_ ? group_->path() : ""},
                           {"watched_s", seconds(watched_ns_)},
                           {"llc_bytes", nullptr}};
  if (last_ && last_->occupancy) fields["llc_bytes"] = *last_->occupancy;
  return {.text = sentences(), .fields = std::move(fields)};
}

}  // namespace tidegauge::wss
