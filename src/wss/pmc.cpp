#include "wss/pmc.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/file_limit.h"
#include "base/format.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

struct Event {
  uint32_t type;
  uint64_t config;
};
constexpr uint64_t cacheEvent(uint64_t cache, uint64_t result) {
  return cache | uint64_t{PERF_COUNT_HW_CACHE_OP_READ} << 8 | result << 16;
}
enum : size_t {
  kCycles,
  kInstructions,
  kL1Looks,
  kL1Misses,
  kLastLooks,
  kLastMisses,
  kTlbLooks,
  kTlbMisses,
  kEventCount
};
constexpr std::array<Event, kEventCount> kEvents{{
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {PERF_TYPE_HW_CACHE, cacheEvent(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_RESULT_ACCESS)},
    {PERF_TYPE_HW_CACHE, cacheEvent(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_RESULT_MISS)},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {PERF_TYPE_HW_CACHE, cacheEvent(PERF_COUNT_HW_CACHE_DTLB, PERF_COUNT_HW_CACHE_RESULT_ACCESS)},
    {PERF_TYPE_HW_CACHE, cacheEvent(PERF_COUNT_HW_CACHE_DTLB, PERF_COUNT_HW_CACHE_RESULT_MISS)},
}};
constexpr size_t kMostThreads = 1024;
// Hits so frequent that what is worked with is in the cache but for what is new.
constexpr double kFits = 99;
// Looks per instruction below which a level says nothing: almost all is answered before it.
constexpr double kLeastLooks = 0.001;

int openCounter(const Event& event, pid_t thread) {
  perf_event_attr wanted{};
  wanted.size = sizeof(wanted);
  wanted.type = event.type;
  wanted.config = event.config;
  wanted.inherit = 1;  // threads and children that begin later
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  wanted.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &wanted, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

base::Error whyNot(int error_number, const std::string& whose) {
  bool may_not = error_number == EACCES || error_number == EPERM;
  if (may_not)
    return {base::ErrorKind::kMissingFeature,
            fmt::format("the processor's counters may not be read{}: {}", whose,
                        std::strerror(error_number)),
            std::nullopt,
            "Run as root, with CAP_PERFMON, or with kernel.perf_event_paranoid at 1 or less"};
  if (error_number == EMFILE)
    return {base::ErrorKind::kLimit, "too many files are open for its counters", std::nullopt,
            "Raise the limit (ulimit -n)"};
  return {
      base::ErrorKind::kMissingFeature,
      fmt::format("this machine counts no hits and misses of caches (no PMU, as in most virtual "
                  "machines): {}",
                  std::strerror(error_number)),
      std::nullopt, "Run it on the host; --backend pte and smaps need no counters"};
}

std::optional<double> valueOf(bool is_there, double value) {
  return is_there ? std::optional(value) : std::nullopt;
}

nlohmann::json jsonOf(std::optional<double> value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json fieldsOf(const CacheCounts& counts, double window_s) {
  auto level = [](const CacheCounts::Level& it) {
    return nlohmann::json{{"looks", jsonOf(it.looks)},
                          {"misses", jsonOf(it.misses)},
                          {"hit_percent", jsonOf(it.hitPercent())}};
  };
  return {{"window_s", window_s},
          {"cycles", jsonOf(counts.cycles)},
          {"instructions", jsonOf(counts.instructions)},
          {"l1d", level(counts.l1)},
          {"llc", level(counts.last)},
          {"dtlb", level(counts.tlb)},
          {"counted_share", counts.watched}};
}

}  // namespace

std::optional<double> CacheCounts::Level::hitPercent() const {
  if (!looks || !misses || *looks <= 0) return std::nullopt;
  return std::clamp(100.0 * (1 - *misses / *looks), 0.0, 100.0);
}

std::string sentencesOf(const CacheCounts& counts, double window_s, const Machine& machine) {
  std::string words;
  auto size = [](uint64_t bytes) {
    return bytes == 0 ? std::string() : fmt::format(" ({})", base::humanBytes(bytes));
  };
  auto isUsed = [&](const CacheCounts::Level& level) {
    return level.looks && counts.instructions && *counts.instructions > 0 &&
           *level.looks / *counts.instructions >= kLeastLooks;
  };
  auto l1 = counts.l1.hitPercent(), last = counts.last.hitPercent(), tlb = counts.tlb.hitPercent();
  if (counts.instructions && *counts.instructions <= 0)
    return "It did not run meanwhile: that says nothing of its caches.\n";
  if (last && isUsed(counts.last)) {
    bool fits = *last >= kFits;
    words += fmt::format(
        "Of {:.1f} million looks into the last cache{} a second {:.1f} % hit: lines of a thread "
        "that "
        "it works with {} there.",
        *counts.last.looks * 1e-6 / std::max(window_s, 1e-9), size(machine.l3_bytes), *last,
        fits ? "fit" : "do not all fit");
    if (!fits) words += " How many more there are this does not say: the hot ones hide the others.";
  } else if (last && l1 && *l1 >= kFits) {
    words += fmt::format(
        "Almost all is answered before the last cache{}: what it works with at a time "
        "is less than that.",
        size(machine.l3_bytes));
  }
  if (tlb && isUsed(counts.tlb))
    words += fmt::format("{}The TLB knew {:.2f} % of the pages that were asked for.",
                         words.empty() ? "" : " ", *tlb);
  if (words.empty()) words = "What this processor counts says nothing of the caches it fits.";
  return words + "\n";
}

base::Status Pmc::check() {
  int file = openCounter(kEvents[kCycles], 0);
  if (file < 0) return whyNot(errno, "");
  close(file);
  return base::okStatus();
}

Pmc::Pmc(const Process& process) : process_(&process), machine_(lookAtMachine(process)) {}

Pmc::Pmc(Pmc&& other) noexcept
    : process_(other.process_),
      machine_(std::move(other.machine_)),
      counters_(std::exchange(other.counters_, {})),
      threads_(other.threads_),
      first_(std::move(other.first_)),
      last_(std::move(other.last_)),
      watched_ns_(other.watched_ns_) {}

Pmc::~Pmc() {
  for (const Counter& counter : counters_) close(counter.file);
}

base::Result<Pmc> Pmc::open(const Process& process) {
  base::allowManyFiles();
  Pmc pmc(process);
  std::string folder = fmt::format("/proc/{}/task", process.pid());
  DIR* tasks = opendir(folder.c_str());
  if (tasks == nullptr) return process.whyNothing("task", errno);
  std::vector<pid_t> threads;
  while (const dirent* entry = readdir(tasks)) {
    pid_t thread = 0;
    std::string_view name = entry->d_name;
    auto [rest, bad] = std::from_chars(name.data(), name.data() + name.size(), thread);
    if (bad == std::errc() && thread > 0) threads.push_back(thread);
  }
  closedir(tasks);
  if (threads.size() > kMostThreads)
    return base::Error{base::ErrorKind::kLimit,
                       fmt::format("process {} has {} threads, more than the {} of which counters "
                                   "are opened",
                                   process.pid(), threads.size(), kMostThreads),
                       std::nullopt, "--backend pte and smaps do not mind how many there are"};
  int first_error = 0;
  for (pid_t thread : threads) {
    for (size_t event = 0; event < kEvents.size(); ++event) {
      int file = openCounter(kEvents[event], thread);
      if (file >= 0) {
        pmc.counters_.push_back({event, file});
      } else if (errno != ESRCH) {  // a thread that ended just now
        if (errno == EMFILE || event == kCycles) first_error = first_error ? first_error : errno;
      }
    }
    pmc.threads_ += 1;
  }
  TG_RETURN_IF_ERROR(process.check());
  if (first_error != 0 || pmc.counters_.empty())
    return whyNot(first_error, fmt::format(" of process {}", process.pid()));
  return pmc;
}

std::string Pmc::how() const {
  return fmt::format("the processor's counters of {}, in user mode",
                     base::counted(threads_, "thread"));
}

std::vector<std::string> Pmc::limits() const {
  return {
      "these are lines of caches, not pages, and a cross-check, not a size: threads on several "
      "processors have several caches, and a hot part hides a cold one"};
}

std::string Pmc::tableHead() const {
  return "Time(s)  Cycles(M)  Instr(M)   IPC  L1D%   LLC(M/s)  LLC%  dTLB% Counted%\n";
}

std::vector<Pmc::Sum> Pmc::sums() const {
  std::vector<Sum> sums(kEvents.size());
  for (const Counter& counter : counters_) {
    std::array<uint64_t, 3> read_out{};
    if (read(counter.file, read_out.data(), sizeof(read_out)) != sizeof(read_out)) continue;
    auto value = static_cast<double>(read_out[0]), enabled = static_cast<double>(read_out[1]),
         running = static_cast<double>(read_out[2]);
    Sum& sum = sums[counter.event];
    sum.is_there = true;
    sum.enabled += enabled;
    sum.running += running;
    // There are fewer counters than events: each is counted in turns, and scaled.
    if (running > 0) sum.value += value * enabled / running;
  }
  return sums;
}

CacheCounts Pmc::between(const std::vector<Sum>& before, const std::vector<Sum>& now) const {
  CacheCounts counts;
  auto value = [&](size_t event) {
    const Sum &then = before[event], &it = now[event];
    if (it.is_there && it.enabled > then.enabled)
      counts.watched =
          std::min(counts.watched, (it.running - then.running) / (it.enabled - then.enabled));
    return valueOf(it.is_there, std::max(0.0, it.value - then.value));
  };
  counts.cycles = value(kCycles);
  counts.instructions = value(kInstructions);
  counts.l1 = {value(kL1Looks), value(kL1Misses)};
  counts.last = {value(kLastLooks), value(kLastMisses)};
  counts.tlb = {value(kTlbLooks), value(kTlbMisses)};
  return counts;
}

base::Result<std::optional<SurveyRow>> Pmc::next(Clock& clock, int64_t window_ns) {
  int64_t begin_ns = clock.now_ns();
  std::vector<Sum> before = sums();
  clock.sleep(window_ns);
  if (clock.isEnding()) return std::optional<SurveyRow>();
  std::vector<Sum> now = sums();
  int64_t took_ns = clock.now_ns() - begin_ns;
  TG_RETURN_IF_ERROR(process_->check());
  CacheCounts counts = between(before, now);
  if (first_.empty()) first_ = before;
  last_ = now;
  watched_ns_ += took_ns;
  auto text = [](std::optional<double> value, double unit, int digits) {
    return value ? fmt::format("{:.{}f}", *value * unit, digits) : std::string("-");
  };
  std::optional<double> ipc, looks_s;
  if (counts.cycles && counts.instructions && *counts.cycles > 0)
    ipc = *counts.instructions / *counts.cycles;
  if (counts.last.looks) looks_s = *counts.last.looks / std::max(1e-9, seconds(took_ns));
  SurveyRow row;
  row.text = fmt::format("{:7.2f} {:>10} {:>9} {:>5} {:>5} {:>10} {:>5} {:>6} {:>8.1f}\n",
                         seconds(watched_ns_), text(counts.cycles, 1e-6, 1),
                         text(counts.instructions, 1e-6, 1), text(ipc, 1, 2),
                         text(counts.l1.hitPercent(), 1, 1), text(looks_s, 1e-6, 2),
                         text(counts.last.hitPercent(), 1, 1), text(counts.tlb.hitPercent(), 1, 2),
                         100 * counts.watched);
  row.fields = fieldsOf(counts, seconds(took_ns));
  return std::optional(std::move(row));
}

std::string Pmc::verdict() const {
  if (first_.empty()) return {};
  return sentencesOf(between(first_, last_), seconds(watched_ns_), machine_);
}

nlohmann::json Pmc::verdictJson() const {
  return first_.empty() ? nlohmann::json() : fieldsOf(between(first_, last_), seconds(watched_ns_));
}

}  // namespace tidegauge::wss
