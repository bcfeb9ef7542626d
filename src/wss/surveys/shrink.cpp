#include "wss/surveys/shrink.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/format.h"
#include "base/text_layout.h"
#include "wss/process/kernel_file.h"
#include "wss/process/lru_gen.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

constexpr uint64_t kPart = 20;  // a step takes this fraction
// smaller ones are lost in the batches of the kernel's accounting
constexpr uint64_t kMinStep = 1U << 20;
constexpr size_t kMaxSteps = 200;
constexpr uint64_t kMaxAtOnce = 64U << 20;  // between two checks of stalls
constexpr int64_t kLook_ns = 100'000'000;
constexpr double kBack = 0.5;  // of the reclaimed bytes
constexpr int kTimes = 2;      // in a row

base::Error missing(std::string what, std::string hint) {
  return {base::ErrorKind::kMissingFeature, std::move(what), std::nullopt, std::move(hint)};
}

// "max" is not a number.
std::optional<uint64_t> numberIn(const std::string& path) {
  auto text = readKernelFile(path);
  if (!text.ok()) return std::nullopt;
  uint64_t value = 0;
  const std::string& it = text.value();
  if (std::from_chars(it.data(), it.data() + it.size(), value).ec != std::errc())
    return std::nullopt;
  return value;
}

bool isWithin(std::string_view path, std::string_view folder) {
  return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

bool machineHasSwap(const std::string& root) {
  auto text = readKernelFile(root + "/proc/swaps");  // a header, and a line for each
  return text.ok() && text.value().find('\n') != std::string::npos;
}

uint64_t lessThan(uint64_t now, uint64_t before) { return before > now ? before - now : 0; }

nlohmann::json fieldsOf(const ShrinkStep& step) {
  return {{"bytes",
           {{"before", step.before},
            {"taken", step.taken},
            {"refaulted", step.refaulted},
            {"after", step.after}}},
          {"stalled_percent",
           step.stalled_percent ? nlohmann::json(*step.stalled_percent) : nlohmann::json()}};
}

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
bool cameBack(const ShrinkStep& step) { return isMost(step.refaulted, step.taken); }
// The reclaimed amount is filled again, by refaults or by new memory.
bool isFilled(const ShrinkStep& step) {
  return cameBack(step) ||
         isMost(lessThan(lessThan(step.taken, step.before), step.after), step.taken);
}

}  // namespace

ShrinkEnd endOf(const std::vector<ShrinkStep>& steps, double most_stalled) {
  if (steps.empty()) return ShrinkEnd::kGoesOn;
  const ShrinkStep& last = steps.back();
  if (last.stalled_percent && *last.stalled_percent > most_stalled) return ShrinkEnd::kPressure;
  // First: if all remaining memory is in use, the kernel hardly finds anything to reclaim.
  auto lastOnes = [&](bool (*are)(const ShrinkStep&)) {
    return steps.size() >= kTimes && std::all_of(steps.end() - kTimes, steps.end(), are);
  };
  if (lastOnes(cameBack)) return ShrinkEnd::kReached;
  if (lastOnes(isFilled)) return ShrinkEnd::kGrew;
  return last.taken < kMinStep / 4 ? ShrinkEnd::kNothingLeft : ShrinkEnd::kGoesOn;
}

base::Result<Shrink> Shrink::open(MemoryScope scope, double most_stalled_percent) {
  const std::string& path = scope.cgroup();
  std::string shown = base::printable(path);
  if (path.size() < 2)
    return missing(
        "memory can only be reclaimed from a cgroup of version 2 with a memory controller",
        "Start the program in such a cgroup (systemd-run --scope -p MemoryAccounting=yes …). "
        "--backend pte and smaps need no cgroup");
  std::string file = scope.folder() + "/memory.reclaim";
  if (access((scope.folder() + "/cgroup.procs").c_str(), F_OK) != 0)
    return base::Error{
        base::ErrorKind::kUnreadable, fmt::format("there is no cgroup {}", shown), std::nullopt,
        "Give its path below /sys/fs/cgroup. `cat /proc/PID/cgroup` prints the path of a process"};
  if (access(file.c_str(), F_OK) != 0)
    return missing(fmt::format("cgroup {} has no memory.reclaim", shown),
                   "It needs version 2, the memory controller, and Linux 5.19 or later");
  if (access(file.c_str(), W_OK) != 0)
    return missing(fmt::format("{} may not be written: {}", file, std::strerror(errno)),
                   "Run as root");
  TG_ASSIGN_OR_RETURN(MemoryCounters now, scope.look());
  if (!now.some_ns)
    return missing(
        fmt::format("cgroup {} does not report how long it waits for memory (memory.pressure)",
                    shown),
        "The experiment needs this to end in time. Boot with psi=1. --backend pte and smaps do "
        "not need it");
  auto own = readKernelFile(scope.root() + "/proc/self/cgroup");
  if (own.ok() && isWithin(memoryCgroup(own.value()), path))
    return base::Error{
        base::ErrorKind::kUsage, fmt::format("this program is in cgroup {} itself", shown),
        std::nullopt,
        "Run tidegauge outside this cgroup, because its own memory would be reclaimed too"};
  uint64_t swap = numberIn(scope.folder() + "/memory.swap.max").value_or(UINT64_MAX);
  bool has_swap = swap != 0 && machineHasSwap(scope.root());
  return Shrink(std::move(scope), most_stalled_percent, has_swap);
}

SurveyHead Shrink::head(int64_t /*window_ns*/) const {
  SurveyHead head{
      .name = "shrink",
      .how =
          fmt::format("reclaims the memory of cgroup {}, one twentieth at a time (memory.reclaim)",
                      base::printable(scope_.cgroup())),
      .limits =
          {"the programs wait for memory that they touch again; no limit is set, so nothing has "
           "to be restored"},
      .table_head = "Step  In memory(MB) Taken(MB)  Back(MB) After(MB)  Some%\n",
      .ends_with_result = true};
  if (!has_swap_)
    head.limits.emplace_back(
        "this cgroup has no swap, so only pages of files can be reclaimed, and all private memory "
        "counts as working set");
  return head;
}

base::Result<uint64_t> Shrink::inMemory() const {
  if (auto bytes = numberIn(scope_.folder() + "/memory.current")) return *bytes;
  return base::Error{
      base::ErrorKind::kUnreadable,
      fmt::format("cgroup {} was removed during the measurement", base::printable(scope_.cgroup())),
      std::nullopt, ""};
}

// Whether the allowed stall of a window that began with `before` is used up.
base::Result<bool> Shrink::waitedTooLong(const MemoryCounters& before, int64_t window_ns) const {
  auto most_ns = static_cast<int64_t>(most_stalled_ / 100 * static_cast<double>(window_ns));
  TG_ASSIGN_OR_RETURN(MemoryCounters now, scope_.look());
  return (now - before).some_ns.value_or(0) > most_ns;
}

// Reclaims less if the stall is used up before the end.
base::Status Shrink::take(uint64_t bytes, const MemoryCounters& before, int64_t window_ns) const {
  for (uint64_t left = bytes; left > 0;) {
    uint64_t part = std::min(left, kMaxAtOnce);
    std::string wanted = std::to_string(part);
    int error_number = writeKernelFile(scope_.folder() + "/memory.reclaim", wanted);
    if (error_number == EAGAIN) break;  // as much as could be taken was less than that
    if (error_number != 0)
      return missing(
          fmt::format("memory.reclaim of cgroup {} does not accept {}: {}",
                      base::printable(scope_.cgroup()), wanted, std::strerror(error_number)),
          "");
    left -= part;
    TG_ASSIGN_OR_RETURN(bool is_over, waitedTooLong(before, window_ns));
    if (is_over) break;
  }
  return base::okStatus();
}

// Ends the window early if it has already stalled for longer than the whole window allows.
base::Result<MemoryCounters> Shrink::watch(Clock& clock, const MemoryCounters& before,
                                           int64_t window_ns) const {
  for (int64_t left_ns = window_ns; left_ns > 0 && !clock.isEnding(); left_ns -= kLook_ns) {
    clock.sleep(std::min(left_ns, kLook_ns));
    TG_ASSIGN_OR_RETURN(bool is_over, waitedTooLong(before, window_ns));
    if (is_over) break;
  }
  TG_ASSIGN_OR_RETURN(MemoryCounters now, scope_.look());
  return now - before;
}

base::Result<std::optional<SurveyRow>> Shrink::next(Clock& clock, int64_t window_ns) {
  window_ns_ = window_ns;
  if (steps_.size() == kMaxSteps || endOf(steps_, most_stalled_) != ShrinkEnd::kGoesOn ||
      clock.isEnding())
    return std::optional<SurveyRow>();
  ShrinkStep step;
  TG_ASSIGN_OR_RETURN(MemoryCounters before, scope_.look());
  TG_ASSIGN_OR_RETURN(step.before, inMemory());
  int64_t begin_ns = clock.now_ns();
  TG_RETURN_IF_ERROR(take(std::max(step.before / kPart, kMinStep), before, window_ns));
  TG_ASSIGN_OR_RETURN(uint64_t left, inMemory());
  TG_ASSIGN_OR_RETURN(MemoryCounters meanwhile, scope_.look());
  // Memory that refaults at once was reclaimed, too.
  step.taken = lessThan(left, step.before + (meanwhile - before).refaulted());
  TG_ASSIGN_OR_RETURN(MemoryCounters counted, watch(clock, before, window_ns));
  TG_ASSIGN_OR_RETURN(step.after, inMemory());
  step.refaulted = counted.refaulted();
  int64_t took_ns = std::max<int64_t>(1, clock.now_ns() - begin_ns);
  if (counted.some_ns)
    step.stalled_percent =
        100.0 * static_cast<double>(*counted.some_ns) / static_cast<double>(took_ns);
  if (clock.isEnding()) return std::optional<SurveyRow>();
  steps_.push_back(step);
  SurveyRow row;
  row.text = fmt::format("{:>4} {:14.2f} {:9.2f} {:9.2f} {:9.2f} {:>6}\n", steps_.size(),
                         mib(step.before), mib(step.taken), mib(step.refaulted), mib(step.after),
                         step.stalled_percent ? fmt::format("{:.2f}", *step.stalled_percent) : "-");
  row.fields = fieldsOf(step);
  return std::optional(std::move(row));
}

uint64_t Shrink::needed() const {
  uint64_t least = UINT64_MAX;
  for (const ShrinkStep& step : steps_) least = std::min(least, step.after);
  return least;
}

std::string Shrink::sentences() const {
  if (steps_.empty()) return {};
  std::string least = base::humanBytes(needed());
  double window_s = seconds(window_ns_);
  switch (endOf(steps_, most_stalled_)) {
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
          least, window_s, has_swap_ ? "" : ", because there is no swap");
    case ShrinkEnd::kPressure:
      return fmt::format(
          "The experiment ended, because the cgroup waited for memory for {:.1f} % of the time, "
          "more than --max-pressure {:g} %. The working set is {} or more in {:g} s.\n",
          *steps_.back().stalled_percent, most_stalled_, least, window_s);
    case ShrinkEnd::kGoesOn:
      break;
  }
  return fmt::format(
      "The experiment ended early. {} were enough in {:g} s; it is unknown whether less would be "
      "enough.\n",
      least, window_s);
}

SurveyVerdict Shrink::verdict() const {
  ShrinkEnd end = endOf(steps_, most_stalled_);
  SurveyVerdict verdict{
      .text = sentences(),
      .fields = {{"cgroup", scope_.cgroup()},
                 {"end", nameOf(end)},
                 {"window_s", seconds(window_ns_)},
                 {"least_bytes", steps_.empty() ? nlohmann::json() : nlohmann::json(needed())},
                 {"has_swap", has_swap_}}};
  if (end == ShrinkEnd::kPressure)
    verdict.broken =
        base::Error{base::ErrorKind::kLimit,
                    "the cgroup waited for memory for longer than --max-pressure allows",
                    std::nullopt, "Choose a higher --max-pressure to continue"};
  return verdict;
}

}  // namespace tidegauge::wss
