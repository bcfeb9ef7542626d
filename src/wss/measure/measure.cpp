#include "wss/measure/measure.h"

#include <algorithm>
#include <limits>

#include "wss/pages/repeats.h"

namespace tidegauge::wss {
namespace {

// Windows of d, 2d, 4d, 8d …: the pauses between their ends, as long as a clock can count.
int64_t pauseBefore(const Plan& plan, int step) {
  constexpr int64_t kLongest_ns = std::numeric_limits<int64_t>::max() / 4;
  int64_t pause_ns = plan.duration_ns;
  if (plan.course != Course::kProfile) return pause_ns;
  for (int i = 1; i < step && pause_ns < kLongest_ns; ++i) pause_ns *= 2;
  return std::min(pause_ns, kLongest_ns);
}

// Memory touched since the beginning stays touched, even if something else (reclaim in the kernel,
// DAMON) cleared its bit. It is unknown which pages those are; known is only how many the mappings
// at these addresses had:
//
//   before │ 60 of 100 touched │ now │ 80 in memory │ → 20 are gone; of the 60 at least 40 are left
//
// So a mapping that was split, merged or unmapped in parts never has more than is certain.
void keepMost(std::vector<MappingUse>& uses, const std::vector<MappingUse>& before) {
  size_t first = 0;
  for (MappingUse& use : uses) {
    while (first < before.size() && before[first].mapping.end <= use.mapping.start) ++first;
    uint64_t touched = 0, there = 0;
    for (size_t i = first; i < before.size() && before[i].mapping.start < use.mapping.end; ++i) {
      touched += before[i].sums.referenced;
      there += before[i].sums.rss;
    }
    uint64_t gone = there > use.sums.rss ? there - use.sums.rss : 0;
    uint64_t left = std::min(use.sums.rss, touched > gone ? touched - gone : 0);
    use.sums.referenced = std::max(use.sums.referenced, left);
  }
}

}  // namespace

Row rowOf(const Clearing& clearing, Reading reading, int64_t slept_ns) {
  Row row;
  row.slept_ns = slept_ns;
  row.clear = clearing.pass;
  row.is_flushed = clearing.is_flushed;
  row.read = reading.pass;
  row.taken_ns = reading.pass.end_ns - clearing.pass.begin_ns;
  row.estimate_ns = row.taken_ns - clearing.pass.duration_ns() / 2 - reading.pass.duration_ns() / 2;
  row.cost = reading.cost;
  for (const MappingUse& use : reading.uses) row.sums.add(use.sums);
  auto windowIn = [&](double from, double to) {
    if (reading.watched_ns)
      return Window{*reading.watched_ns, *reading.watched_ns, *reading.watched_ns};
    if (reading.ran) return *reading.ran;
    if (!reading.in_order) from = 0, to = 1;
    return windowOf(row.clear, row.read, from, to);
  };
  // Both walks take time in proportion to the resident pages.
  auto all = static_cast<double>(std::max<uint64_t>(1, row.sums.rss));
  double before = 0, weighted_ns = 0;
  for (const MappingUse& use : reading.uses) {
    double after = before + static_cast<double>(use.sums.rss);
    row.windows.push_back(windowIn(before / all, after / all));
    weighted_ns +=
        static_cast<double>(row.windows.back().mean_ns) * static_cast<double>(use.sums.referenced);
    before = after;
  }
  if (reading.rss_bytes) row.sums.rss = *reading.rss_bytes;
  row.error_bytes = reading.error_bytes;
  row.uncleared_bytes = reading.uncleared_bytes;
  row.unread_bytes = reading.unread_bytes;
  row.unmapped_bytes = reading.unmapped_bytes;
  row.gone_bytes = reading.gone_bytes;
  row.knows_error = !reading.watched_ns;
  row.window = windowIn(0, 1);
  if (row.sums.referenced > 0)
    row.window.mean_ns =
        static_cast<int64_t>(weighted_ns / static_cast<double>(row.sums.referenced));
  row.uses = std::move(reading.uses);
  row.pages = std::move(reading.pages);
  row.frames = std::move(reading.frames);
  row.repeated_bytes = repeatedBytes(row.uses);
  if (row.repeated_bytes > kFewRepeats && !row.frames.empty()) row.once = onceOf({row.frames});
  return row;
}

Touched touchedIn(const Row& row) {
  Once once = row.once.value_or(Once{row.sums.rss, row.sums.referenced});
  return {row.window.mean_ns, once.referenced + row.gone_bytes, once.rss,
          row.meanwhile.is_reclaimed, row.meanwhile.unseen.any() || !row.is_flushed};
}

uint64_t newMemory(const Row& row) { return row.meanwhile.work.minor_faults.value_or(0) * kPage; }

Bounds boundsOf(const Row& row) { return boundsOf(touchedIn(row).bytes, row); }

Bounds boundsOf(uint64_t touched_bytes, const Row& row) {
  if (!row.knows_error) return {};  // by regions
  auto error = static_cast<uint64_t>(row.error_bytes.value_or(0));
  uint64_t too_much = error + (row.once ? 0 : row.repeated_bytes);
  Bounds bounds{.least_bytes = touched_bytes - std::min(touched_bytes, too_much)};
  bool misses_some = isAtLeast(row) || row.unread_bytes > 0 || row.sums.hugetlb > 0;
  if (!misses_some) bounds.most_bytes = touched_bytes + error + newMemory(row);
  return bounds;
}

uint64_t maybeOfOthers(const Row& row) {
  if (row.of_others_bytes) return *row.of_others_bytes;
  uint64_t bytes = 0;
  for (const MappingUse& use : row.uses) bytes += std::min(use.sums.referenced, use.sums.shared);
  return bytes;
}

double writeRate(const Row& row) {
  constexpr double kMost = 1e18;  // a file may contain any value, and no machine writes as fast
  if (row.window.mean_ns <= 0) return 0;
  return std::min(kMost, static_cast<double>(row.sums.referenced) * 1e9 /
                             static_cast<double>(row.window.mean_ns));
}

double allWrittenAfter_s(const Row& row) {
  double rate = writeRate(row);
  return rate == 0 ? 0 : static_cast<double>(row.sums.rss) / rate;
}

base::Status measure(const Process& process, Backend& backend, const Plan& plan, Clock& clock,
                     const std::function<bool(const Row&)>& onRow, MeanwhileWatch* watch) {
  const Process* one = &process;
  std::span<MeanwhileWatch* const> watches(&watch, watch == nullptr ? 0 : 1);
  return measureAll(
      {&one, 1}, backend, plan, clock,
      [&](std::span<const Outcome> outcomes) { return onRow(*outcomes[0].row); }, watches);
}

namespace {

// Repeats the action if the thread that was asked ended meanwhile and another one exists: a few
// times, since that one may end, too.
template <class Act>
auto withAnyThread(const Process& process, const Act& act) -> decltype(act()) {
  constexpr int kMaxTries = 8;
  for (int tries = 1;; ++tries) {
    pid_t asked = process.thread();
    auto done = act();
    if (done.ok() || process.thread() == asked || tries == kMaxTries) return done;
  }
}

// Sleeps; meanwhile calls `glance` where memory is being reclaimed.
void sleepAndGlance(Clock& clock, int64_t ns, const std::function<void()>& glance) {
  constexpr int64_t kPause_ns = 10'000'000, kMaxPart = 20;
  int64_t end_ns = clock.now_ns() + ns, pause_ns = kPause_ns;
  while (!clock.isEnding()) {
    int64_t left_ns = end_ns - clock.now_ns();
    clock.sleep(std::min(left_ns, pause_ns));
    if (left_ns <= pause_ns) return;
    int64_t began_ns = clock.now_ns();
    glance();
    pause_ns = std::max(kPause_ns, kMaxPart * (clock.now_ns() - began_ns));
  }
}

// To be stopped and resumed takes processor time of a thread, too: a process that had no more did
// not run.
void forgetStops(Work& work, size_t stopped_threads) {
  constexpr int64_t kStops_ns = 150'000;
  auto own_ns = static_cast<int64_t>(stopped_threads) * kStops_ns;
  if (work.ran_ns && *work.ran_ns <= own_ns) work.ran_ns = 0;
}

}  // namespace

base::Status measureAll(std::span<const Process* const> processes, Backend& backend,
                        const Plan& plan, Clock& clock,
                        const std::function<bool(std::span<const Outcome>)>& onRows,
                        std::span<MeanwhileWatch* const> watches) {
  int64_t began_ns = clock.now_ns(), slept_ns = 0;
  std::vector<Outcome> outcomes(processes.size());
  std::vector<Clearing> clearings(processes.size());
  auto forEachProcess = [&](const auto& act) -> base::Status {
    bool is_any_left = false;
    for (size_t i = 0; i < processes.size(); ++i) {
      if (outcomes[i].gone) continue;
      if (auto status = act(i); !status.ok()) outcomes[i] = {std::nullopt, status.error()};
      is_any_left |= !outcomes[i].gone;
    }
    return is_any_left ? base::okStatus() : base::Status(*outcomes[0].gone);
  };
  TG_RETURN_IF_ERROR(forEachProcess([&](size_t i) { return processes[i]->claim(); }));
  for (int step = 0; plan.course != Course::kProfile || step < plan.steps; ++step) {
    bool clears = step == 0 || plan.course == Course::kSnapshots;
    auto clear = [&](size_t i) -> base::Status {
      if (!watches.empty()) watches[i]->begin(clock.now_ns());
      auto act = [&] { return backend.clear(*processes[i], clock); };
      TG_ASSIGN_OR_RETURN(clearings[i], withAnyThread(*processes[i], act));
      return base::okStatus();
    };
    if (clears) {
      TG_RETURN_IF_ERROR(backend.clearOutside(clock));
      TG_RETURN_IF_ERROR(forEachProcess(clear));
      slept_ns = 0;
    }
    int64_t sleep_began_ns = clock.now_ns();
    if (!watches.empty() && backend.traits().glances)
      sleepAndGlance(clock, pauseBefore(plan, step), [&] {
        for (size_t i = 0; i < processes.size(); ++i)
          // What becomes of a process is reported by the reading.
          if (!outcomes[i].gone && watches[i]->isReclaimed())
            (void)backend.glance(*processes[i], clock);
      });
    else
      clock.sleep(pauseBefore(plan, step));
    slept_ns += clock.now_ns() - sleep_began_ns;
    if (clock.isEnding()) break;
    int64_t end_ns = 0;
    TG_RETURN_IF_ERROR(forEachProcess([&](size_t i) -> base::Status {
      auto act = [&] { return backend.read(*processes[i], clock); };
      TG_ASSIGN_OR_RETURN(Reading reading, withAnyThread(*processes[i], act));
      if (!clears && outcomes[i].row) keepMost(reading.uses, outcomes[i].row->uses);
      size_t stopped_threads = reading.stopped_threads;
      Row row = rowOf(clearings[i], std::move(reading), slept_ns);
      if (clears) {
        row.cost.cpu_ns += clearings[i].cost.cpu_ns + clearings[i].ring_cpu_ns;
        row.cost.stall_ns = std::max(row.cost.stall_ns, clearings[i].cost.stall_ns);
        row.cost.stopped_ns += clearings[i].cost.stopped_ns;
      }
      if (!watches.empty()) row.meanwhile = watches[i]->look(clock.now_ns());
      forgetStops(row.meanwhile.work, stopped_threads);
      if (clearings[i].sees_guests) row.meanwhile.unseen.remove(Toucher::kKvm);
      if (clearings[i].is_sampled_by_others && mayMissHugePages(row.sums))
        row.meanwhile.unseen.add(Toucher::kDamon);
      end_ns = row.read.end_ns;
      outcomes[i].row = std::move(row);
      return base::okStatus();
    }));
    TG_RETURN_IF_ERROR(backend.readOutside(processes, clock));
    if (!onRows(outcomes) || plan.course == Course::kSingle) break;
    if (plan.course == Course::kSnapshots) {
      bool has_time = !plan.total_ns || clock.now_ns() - began_ns < *plan.total_ns - plan.pause_ns;
      if (!has_time && !plan.as_wss_pl) break;
      clock.sleep(plan.pause_ns);
    }
    if (clock.isEnding() || (plan.total_ns && end_ns - began_ns >= *plan.total_ns)) break;
  }
  return base::okStatus();
}

}  // namespace tidegauge::wss
