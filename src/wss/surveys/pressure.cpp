#include "wss/surveys/pressure.h"

#include <fmt/format.h>

#include "base/format.h"
#include "base/text_layout.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

constexpr double kNoise_s = 4096;             // bytes per second
constexpr int64_t kSure_ns = 30'000'000'000;  // sustained for this time

std::optional<double> shareOf(std::optional<int64_t> waited_ns, int64_t window_ns) {
  if (!waited_ns || window_ns <= 0) return std::nullopt;
  return 100.0 * static_cast<double>(*waited_ns) / static_cast<double>(window_ns);
}

std::string percentText(std::optional<double> share) {
  return share ? fmt::format("{:.2f}", *share) : "-";
}

}  // namespace

Shortage shortageOf(const MemoryCounters& counted, int64_t window_ns) {
  double noise = kNoise_s * std::max(1.0, seconds(window_ns));
  // Refaults without any scanning were caused by a manual drop of caches, or by a host.
  if (static_cast<double>(counted.scanned) <= noise) return Shortage::kNone;
  return static_cast<double>(counted.refaulted()) > noise ? Shortage::kShort : Shortage::kNear;
}

std::string_view nameOf(Shortage shortage) {
  if (shortage == Shortage::kShort) return "short";
  return shortage == Shortage::kNear ? "near" : "none";
}

nlohmann::json countersJson(const MemoryCounters& counted, int64_t window_ns) {
  return {{"window_s", seconds(window_ns)},
          {"stalled_percent",
           {{"some", jsonOf(shareOf(counted.some_ns, window_ns))},
            {"full", jsonOf(shareOf(counted.full_ns, window_ns))}}},
          {"bytes",
           {{"scanned", counted.scanned},
            {"taken", counted.taken},
            {"refaulted_file", counted.refaulted_file},
            {"refaulted_anonymous", counted.refaulted_anonymous}}}};
}

nlohmann::json pressureJson(const PressureWindow& window) {
  nlohmann::json json = countersJson(window.counted, window.window_ns);
  json["shortage"] = nameOf(shortageOf(window.counted, window.window_ns));
  return json;
}

SurveyHead Pressure::head(int64_t /*window_ns*/) const {
  SurveyHead head{
      .name = "pressure",
      .how = "the kernel's statistics of memory pressure, ",
      .table_head = "Time(s)   Some%   Full%  Scan(MB) Taken(MB)  Back(MB): files  private\n"};
  if (!scope_.cgroup().empty()) {
    head.how += "in cgroup " + base::printable(scope_.cgroup());
    if (scope_.scansMachine())
      head.limits = {
          "only what was read back is of this cgroup; the other figures describe the whole "
          "machine, without the reclaim at other cgroups' limits, because cgroups of version 1 do "
          "not count them"};
    return head;
  }
  head.how += "on this machine";
  head.limits = {
      "these figures describe the whole machine, because this process is in no cgroup of version "
      "2 with a memory controller, or in the root cgroup"};
  return head;
}

base::Result<std::optional<SurveyRow>> Pressure::next(Clock& clock, int64_t window_ns) {
  TG_RETURN_IF_ERROR(process_.check());
  int64_t begin_ns = clock.now_ns();
  TG_ASSIGN_OR_RETURN(MemoryCounters before, scope_.look());
  clock.sleep(window_ns);
  if (clock.isEnding()) return std::optional<SurveyRow>();
  TG_ASSIGN_OR_RETURN(MemoryCounters now, scope_.look());
  int64_t took_ns = clock.now_ns() - begin_ns;
  TG_RETURN_IF_ERROR(process_.check());
  MemoryCounters counted = now - before;
  add(all_, counted);
  watched_ns_ += took_ns;
  SurveyRow row;
  row.text = fmt::format("{:7.2f} {:>7} {:>7} {:9.2f} {:9.2f} {:16.2f} {:8.2f}\n",
                         seconds(watched_ns_), percentText(shareOf(counted.some_ns, took_ns)),
                         percentText(shareOf(counted.full_ns, took_ns)), mib(counted.scanned),
                         mib(counted.taken), mib(counted.refaulted_file),
                         mib(counted.refaulted_anonymous));
  row.fields = countersJson(counted, took_ns);
  return std::optional(std::move(row));
}

std::string Pressure::sentences() const {
  if (watched_ns_ == 0) return {};
  std::string whose = scope_.cgroup().empty() ? "this machine" : "its cgroup";
  std::string words;
  switch (shortageOf(all_, watched_ns_)) {
    case Shortage::kShort:
      words = fmt::format(
          "Memory of {} is short: the kernel reclaimed {}, which was read back. The working set "
          "is larger than the available memory.",
          whose, base::humanBytes(all_.refaulted()));
      break;
    case Shortage::kNear:
      words = fmt::format(
          "Memory of {} is full: the kernel scanned {} to free memory, and no reclaimed memory "
          "was read back. The working set fits.",
          whose, base::humanBytes(all_.scanned));
      break;
    case Shortage::kNone:
      words = fmt::format(
          "Memory of {} is not short, so the working set fits. --backend pte or smaps measures it.",
          whose);
      break;
  }
  if (watched_ns_ < kSure_ns)
    words +=
        fmt::format(" (Measured for {:.0f} s; half a minute shows more.)", seconds(watched_ns_));
  return words + "\n";
}

SurveyVerdict Pressure::verdict() const {
  nlohmann::json all = countersJson(all_, watched_ns_);
  all["shortage"] = nameOf(shortageOf(all_, watched_ns_));
  all["cgroup"] = scope_.cgroup().empty() ? nlohmann::json() : nlohmann::json(scope_.cgroup());
  return {.text = sentences(), .fields = std::move(all)};
}

}  // namespace tidegauge::wss
