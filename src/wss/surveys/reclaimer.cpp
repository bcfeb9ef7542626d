#include "wss/surveys/reclaimer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/text_layout.h"
#include "wss/machine/lru_gen.h"
#include "wss/process/kernel_file.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

constexpr uint64_t kMaxAtOnce = 64U << 20;  // between two checks of stalls
constexpr int64_t kLook_ns = 100'000'000;

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

bool machineHasSwap(const std::string& root) {
  auto text = readKernelFile(root + "/proc/swaps");  // a header, and a line for each
  return text.ok() && text.value().find('\n') != std::string::npos;
}

nlohmann::json fieldsOf(const ReclaimStep& step) {
  return {{"bytes",
           {{"before", step.before},
            {"taken", step.taken},
            {"refaulted", step.refaulted},
            {"after", step.after}}},
          {"stalled_percent",
           step.stalled_percent ? nlohmann::json(*step.stalled_percent) : nlohmann::json()}};
}

}  // namespace

SurveyRow rowOf(const ReclaimStep& step, size_t number) {
  SurveyRow row;
  row.text = fmt::format("{:>4} {:14.2f} {:9.2f} {:9.2f} {:9.2f} {:>6}\n", number, mib(step.before),
                         mib(step.taken), mib(step.refaulted), mib(step.after),
                         step.stalled_percent ? fmt::format("{:.2f}", *step.stalled_percent) : "-");
  row.fields = fieldsOf(step);
  return row;
}

base::Result<Reclaimer> Reclaimer::open(MemoryScope scope, double most_stalled_percent) {
  const std::string& path = scope.cgroup();
  std::string shown = base::printable(path);
  if (path.size() < 2)
    return missingFeature(
        "memory can only be reclaimed from a cgroup of version 2 with a memory controller",
        "Start the program in such a cgroup (systemd-run --scope -p MemoryAccounting=yes …). "
        "--backend pte and smaps need no cgroup");
  std::string file = scope.folder() + "/memory.reclaim";
  if (access((scope.folder() + "/cgroup.procs").c_str(), F_OK) != 0)
    return base::Error{
        base::ErrorKind::kUnreadable, fmt::format("there is no cgroup {}", shown), std::nullopt,
        "Give its path below /sys/fs/cgroup. `cat /proc/PID/cgroup` prints the path of a process"};
  if (access(file.c_str(), F_OK) != 0)
    return missingFeature(fmt::format("cgroup {} has no memory.reclaim", shown),
                          "It needs version 2, the memory controller, and Linux 5.19 or later");
  if (access(file.c_str(), W_OK) != 0)
    return missingFeature(fmt::format("{} may not be written: {}", file, std::strerror(errno)),
                          "Run as root");
  TG_ASSIGN_OR_RETURN(MemoryCounters now, scope.look());
  if (!now.some_ns)
    return missingFeature(
        fmt::format("cgroup {} does not report how long it waits for memory (memory.pressure)",
                    shown),
        "The experiment needs this to end in time. Boot with psi=1. --backend pte and smaps do "
        "not need it");
  auto own = readKernelFile(scope.root() + "/proc/self/cgroup");
  if (own.ok() && isWithinCgroup(memoryCgroup(own.value()), path))
    return base::Error{
        base::ErrorKind::kUsage, fmt::format("this program is in cgroup {} itself", shown),
        std::nullopt,
        "Run tidegauge outside this cgroup, because its own memory would be reclaimed too"};
  uint64_t swap = numberIn(scope.folder() + "/memory.swap.max").value_or(UINT64_MAX);
  bool has_swap = swap != 0 && machineHasSwap(scope.root());
  return Reclaimer(std::move(scope), most_stalled_percent, has_swap);
}

base::Result<uint64_t> Reclaimer::inMemory() const {
  if (auto bytes = numberIn(scope_.folder() + "/memory.current")) return *bytes;
  return base::Error{
      base::ErrorKind::kUnreadable,
      fmt::format("cgroup {} was removed during the measurement", base::printable(scope_.cgroup())),
      std::nullopt, ""};
}

// Whether the allowed stall of a window that began with `before` is used up.
base::Result<bool> Reclaimer::waitedTooLong(const MemoryCounters& before, int64_t window_ns) const {
  auto most_ns = static_cast<int64_t>(most_stalled_ / 100 * static_cast<double>(window_ns));
  TG_ASSIGN_OR_RETURN(MemoryCounters now, scope_.look());
  return (now - before).some_ns.value_or(0) > most_ns;
}

// Reclaims less if the stall is used up before the end.
base::Status Reclaimer::take(uint64_t bytes, const MemoryCounters& before,
                             int64_t window_ns) const {
  for (uint64_t left = bytes; left > 0;) {
    uint64_t part = std::min(left, kMaxAtOnce);
    std::string wanted = std::to_string(part);
    int error_number = writeKernelFile(scope_.folder() + "/memory.reclaim", wanted);
    if (error_number == EAGAIN) break;  // as much as could be taken was less than that
    if (error_number != 0)
      return missingFeature(
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
base::Result<MemoryCounters> Reclaimer::watch(Clock& clock, const MemoryCounters& before,
                                              int64_t window_ns) const {
  for (int64_t left_ns = window_ns; left_ns > 0 && !clock.isEnding(); left_ns -= kLook_ns) {
    clock.sleep(std::min(left_ns, kLook_ns));
    TG_ASSIGN_OR_RETURN(bool is_over, waitedTooLong(before, window_ns));
    if (is_over) break;
  }
  TG_ASSIGN_OR_RETURN(MemoryCounters now, scope_.look());
  return now - before;
}

base::Result<std::optional<ReclaimStep>> Reclaimer::step(uint64_t bytes, Clock& clock,
                                                         int64_t window_ns) const {
  ReclaimStep step;
  TG_ASSIGN_OR_RETURN(MemoryCounters before, scope_.look());
  TG_ASSIGN_OR_RETURN(step.before, inMemory());
  int64_t begin_ns = clock.now_ns();
  TG_RETURN_IF_ERROR(take(bytes, before, window_ns));
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
  if (clock.isEnding()) return std::optional<ReclaimStep>();
  return std::optional(step);
}

base::Error Reclaimer::stalledTooLong() {
  return {base::ErrorKind::kLimit,
          "the cgroup waited for memory for longer than --max-pressure allows", std::nullopt,
          "Choose a higher --max-pressure to continue"};
}

std::vector<std::string> Reclaimer::limits() const {
  std::vector<std::string> limits{
      "the programs wait for memory that they touch again; no limit is set, so nothing has to be "
      "restored"};
  if (!has_swap_)
    limits.emplace_back(
        "this cgroup has no swap, so only pages of files can be reclaimed, and all private memory "
        "counts as working set");
  return limits;
}

}  // namespace tidegauge::wss
