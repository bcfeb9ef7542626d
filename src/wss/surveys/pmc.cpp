#include "wss/surveys/pmc.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/format.h"
#include "base/memory/memory.h"
#include "wss/process/threads.h"
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
  kL2Looks,
  kL2Misses,
  kLastLooks,
  kLastMisses,
  kTlbLooks,
  kTlbMisses,
  kEventCount
};
using Events = std::array<std::optional<Event>, kEventCount>;  // absent: not counted here
// "References" and "misses" belong to the last cache on Intel, to the second on AMD
// (arch/x86/events/amd/core.c), and to the first on arm64, which has other events for the last.
Events eventsOf(CounterMaker maker) {
  auto missesOf = [](uint64_t cache) {
    return Event{PERF_TYPE_HW_CACHE, cacheEvent(cache, PERF_COUNT_HW_CACHE_RESULT_MISS)};
  };
  auto looksOf = [](uint64_t cache) {
    return Event{PERF_TYPE_HW_CACHE, cacheEvent(cache, PERF_COUNT_HW_CACHE_RESULT_ACCESS)};
  };
  constexpr Event kReferences{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
      kMisses{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES};
  Events events;
  events[kCycles] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES};
  events[kInstructions] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS};
  events[kL1Looks] = looksOf(PERF_COUNT_HW_CACHE_L1D);
  events[kL1Misses] = missesOf(PERF_COUNT_HW_CACHE_L1D);
  events[kTlbLooks] = looksOf(PERF_COUNT_HW_CACHE_DTLB);
  events[kTlbMisses] = missesOf(PERF_COUNT_HW_CACHE_DTLB);
  bool is_generic_last = maker == CounterMaker::kIntel;
  if (maker == CounterMaker::kAmd) events[kL2Looks] = kReferences, events[kL2Misses] = kMisses;
  if (maker != CounterMaker::kAmd) {
    events[kLastLooks] = is_generic_last ? kReferences : looksOf(PERF_COUNT_HW_CACHE_LL);
    events[kLastMisses] = is_generic_last ? kMisses : missesOf(PERF_COUNT_HW_CACHE_LL);
  }
  return events;
}

#ifdef __x86_64__
CounterMaker makerHere() {
  constexpr unsigned kHygon = 0x6f677948;  // "Hygo"
  unsigned most = 0, first = 0, second = 0, third = 0;
  if (__get_cpuid(0, &most, &first, &second, &third) == 0) return CounterMaker::kIntel;
  bool is_amd = first == signature_AMD_ebx || first == kHygon;
  return is_amd ? CounterMaker::kAmd : CounterMaker::kIntel;
}
#else
CounterMaker makerHere() { return CounterMaker::kOther; }
#endif

// From this hit rate on, the lines in use are in the cache, except for new ones.
constexpr double kFits = 99;
// With fewer accesses per instruction, a level shows nothing: almost all are answered before it.
constexpr double kMinLooks = 0.001;

int openCounter(const Event& event, pid_t thread) {
  perf_event_attr wanted{};
  wanted.size = sizeof(wanted);
  wanted.type = event.type;
  wanted.config = event.config;
  wanted.inherit = 1;  // also for later threads and children
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  wanted.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &wanted, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

base::Error counterError(int error_number, const std::string& whose) {
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
  return {base::ErrorKind::kMissingFeature,
          fmt::format("this machine counts no hits and misses of "
                      "caches (no PMU, as in most virtual machines): {}",
                      std::strerror(error_number)),
          std::nullopt, "Run it on the host; --backend pte and smaps need no counters"};
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
          {"l2", level(counts.l2)},
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
           *level.looks / *counts.instructions >= kMinLooks;
  };
  auto l1 = counts.l1.hitPercent(), tlb = counts.tlb.hitPercent();
  if (counts.instructions && *counts.instructions <= 0)
    return "The process did not run during the window, so nothing is known about its caches.\n";
  // A processor reports one of the two.
  bool is_second = counts.l2.hitPercent().has_value();
  const CacheCounts::Level& outer = is_second ? counts.l2 : counts.last;
  std::string cache =
      is_second ? "second cache" + size(machine.l2_bytes) : "last cache" + size(machine.l3_bytes);
  if (auto hit = outer.hitPercent(); hit && isUsed(outer)) {
    bool fits = *hit >= kFits;
    words += fmt::format(
        "{:.1f} million accesses per second reach the {}, and {:.1f} % of them hit. The lines "
        "that a thread uses {} in it.",
        *outer.looks * 1e-6 / std::max(window_s, 1e-9), cache, *hit,
        fits ? "fit" : "do not all fit");
    if (!fits)
      words += " How many do not fit is unknown, because frequently used lines hide the others.";
  } else if (hit && l1 && *l1 >= kFits) {
    words += fmt::format(
        "Almost no access reaches the {}, so the lines in use at one time are fewer than fit in "
        "it.",
        cache);
  }
  if (tlb && isUsed(counts.tlb))
    words += fmt::format("{}The TLB contained {:.2f} % of the requested pages.",
                         words.empty() ? "" : " ", *tlb);
  if (words.empty()) words = "This processor's counters do not show which caches it fits.";
  return words + "\n";
}

CacheCounts countsBetween(std::span<const Count> before, std::span<const Count> now) {
  std::array<std::optional<double>, kEventCount> sums;
  std::array<double, kEventCount> enabled{}, running{};
  for (size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    size_t event = now[i].event;
    double on = now[i].enabled - before[i].enabled, counted = now[i].running - before[i].running;
    if (on > 0) enabled[event] += on, running[event] += std::max(0.0, counted);
    // There are fewer counters than events: they take turns, and each count is scaled to the whole
    // time.
    double value = counted > 0 ? (now[i].value - before[i].value) * on / counted : 0;
    sums[event] = sums[event].value_or(0) + std::max(0.0, value);
  }
  CacheCounts counts;
  for (size_t event = 0; event < kEventCount; ++event)
    if (enabled[event] > 0)
      counts.watched = std::min(counts.watched, running[event] / enabled[event]);
  counts.cycles = sums[kCycles];
  counts.instructions = sums[kInstructions];
  counts.l1 = {sums[kL1Looks], sums[kL1Misses]};
  counts.l2 = {sums[kL2Looks], sums[kL2Misses]};
  counts.last = {sums[kLastLooks], sums[kLastMisses]};
  counts.tlb = {sums[kTlbLooks], sums[kTlbMisses]};
  return counts;
}

base::Status Pmc::check() {
  int file = openCounter(*eventsOf(makerHere())[kCycles], 0);
  if (file < 0) return counterError(errno, "");
  close(file);
  return base::okStatus();
}

Pmc::Pmc(const Process& process)
    : process_(&process), machine_(lookAtMachine(process)), maker_(makerHere()) {}

Pmc::Pmc(Pmc&& other) noexcept
    : process_(other.process_),
      machine_(std::move(other.machine_)),
      maker_(other.maker_),
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
  TG_ASSIGN_OR_RETURN(std::vector<pid_t> threads, threadsOf(process, "--backend pmc"));
  int first_error = 0;
  Events events = eventsOf(pmc.maker_);
  for (pid_t thread : threads) {
    for (size_t event = 0; event < kEventCount; ++event) {
      if (!events[event]) continue;
      int file = openCounter(*events[event], thread);
      if (file >= 0) {
        pmc.counters_.push_back({event, file});
      } else if (errno != ESRCH) {  // a thread that just ended
        if (errno == EMFILE || event == kCycles) first_error = first_error ? first_error : errno;
      }
    }
    pmc.threads_ += 1;
  }
  TG_RETURN_IF_ERROR(process.check());
  if (first_error != 0 || pmc.counters_.empty())
    return counterError(first_error, fmt::format(" of process {}", process.pid()));
  return pmc;
}

SurveyHead Pmc::head(int64_t /*window_ns*/) const {
  std::string_view outer = maker_ == CounterMaker::kAmd ? " L2(M/s)   L2%" : "LLC(M/s)  LLC%";
  return {
      .name = "pmc",
      .how = fmt::format("the processor's counters of {}, in user mode",
                         base::counted(threads_, "thread")),
      .limits = {"these are lines of caches, not pages, and a cross-check, not a size: threads on "
                 "several processors have several caches, and a hot part hides a cold one"},
      .table_head =
          fmt::format("Time(s)  Cycles(M)  Instr(M)   IPC  L1D%   {}  dTLB% Counted%\n", outer)};
}

std::vector<Count> Pmc::counts() const {
  std::vector<Count> counts;
  for (const Counter& counter : counters_) {
    std::array<uint64_t, 3> values{};
    Count count{.event = counter.event};
    if (read(counter.file, values.data(), sizeof(values)) == sizeof(values)) {
      count.value = static_cast<double>(values[0]);
      count.enabled = static_cast<double>(values[1]);
      count.running = static_cast<double>(values[2]);
    }
    counts.push_back(count);
  }
  return counts;
}

base::Result<std::optional<SurveyRow>> Pmc::next(Clock& clock, int64_t window_ns) {
  int64_t begin_ns = clock.now_ns();
  std::vector<Count> before = counts();
  clock.sleep(window_ns);
  if (clock.isEnding()) return std::optional<SurveyRow>();
  std::vector<Count> now = counts();
  int64_t took_ns = clock.now_ns() - begin_ns;
  TG_RETURN_IF_ERROR(process_->check());
  CacheCounts counted = countsBetween(before, now);
  if (first_.empty()) first_ = before;
  last_ = now;
  watched_ns_ += took_ns;
  auto text = [](std::optional<double> value, double unit, int digits) {
    return value ? fmt::format("{:.{}f}", *value * unit, digits) : std::string("-");
  };
  const CacheCounts::Level& outer = maker_ == CounterMaker::kAmd ? counted.l2 : counted.last;
  std::optional<double> ipc, looks_s;
  if (counted.cycles && counted.instructions && *counted.cycles > 0)
    ipc = *counted.instructions / *counted.cycles;
  if (outer.looks) looks_s = *outer.looks / std::max(1e-9, seconds(took_ns));
  SurveyRow row;
  row.text = fmt::format(
      "{:7.2f} {:>10} {:>9} {:>5} {:>5} {:>10} {:>5} {:>6} {:>8.1f}\n", seconds(watched_ns_),
      text(counted.cycles, 1e-6, 1), text(counted.instructions, 1e-6, 1), text(ipc, 1, 2),
      text(counted.l1.hitPercent(), 1, 1), text(looks_s, 1e-6, 2), text(outer.hitPercent(), 1, 1),
      text(counted.tlb.hitPercent(), 1, 2), 100 * counted.watched);
  row.fields = fieldsOf(counted, seconds(took_ns));
  return std::optional(std::move(row));
}

SurveyVerdict Pmc::verdict() const {
  if (first_.empty()) return {};
  CacheCounts all = countsBetween(first_, last_);
  double watched_s = seconds(watched_ns_);
  return {.text = sentencesOf(all, watched_s, machine_), .fields = fieldsOf(all, watched_s)};
}

}  // namespace tidegauge::wss
