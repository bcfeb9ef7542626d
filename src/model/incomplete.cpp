#include "model/incomplete.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/format.h"
#include "model/recorded_work.h"

namespace tidegauge::model {
namespace {

using F = Figures;

constexpr std::array<std::string_view, kFigures> kNames = {
    "memory",     "blocks",       "launches",      "copies",
    "call sites", "kernel names", "launch events", "device times"};

constexpr std::pair<std::string_view, FigureSet> kLossFigures[] = {
    {"memory ring full", {F::kMemory, F::kBlocks}},
    // Ends of processes, libraries that were not watched because of it, and all calls of a process
    // that was not reported.
    {"system ring full",
     {F::kMemory, F::kBlocks, F::kLaunches, F::kCopies, F::kCallSites, F::kKernelNames}},
    {"name ring full", {F::kKernelNames}},
    {"launch ring full", {F::kLaunchEvents}},
    {"no stack", {F::kCallSites}},
    {"return without entry", {F::kMemory, F::kCopies, F::kKernelNames}},
    {"no room in flight", {F::kMemory, F::kCopies, F::kKernelNames}},
    {"no room for a thread", {F::kMemory, F::kBlocks, F::kLaunches, F::kCopies, F::kKernelNames}},
    {"memory not readable", {F::kMemory, F::kLaunches, F::kCopies, F::kKernelNames}},
    {"no room for a launch", {F::kLaunches}},
    {"no room for a copy", {F::kCopies}},
    {"no room for device times", {F::kDeviceTimes}},
    {"device times dropped by CUPTI", {F::kDeviceTimes}},
    {"device times not readable", {F::kDeviceTimes}},
    {"no room for a kernel's name in device times", {F::kDeviceTimes}},
    {"device times not measured", {F::kDeviceTimes}},
    {"device times not plausible", {F::kDeviceTimes}},
    {"device times of unknown programs", {F::kDeviceTimes}},
};

constexpr std::pair<std::string_view, FigureSet> kTables[] = {
    {"calls", {F::kMemory, F::kBlocks}},
    {"launches", {F::kLaunches}},
    {"copies", {F::kCopies}},
    {"kernels", {F::kKernelNames}},
    {"launch_events", {F::kLaunchEvents}},
    {"modules", {F::kCallSites}},
    {"calls.stack_id", {F::kCallSites}},
    {"frames", {F::kCallSites}},
    {"frames.module_id", {F::kCallSites}},
    {"stack_frames", {F::kCallSites}},
    {"processes", {}},
    {"meta", {}},
    {"devices", {}},
    {"device_memory", {}},
    {"device_names", {F::kDeviceTimes}},
    {"device_activities", {F::kDeviceTimes}},
    {"device_programs", {F::kDeviceTimes}},
};

template <size_t N>
FigureSet find(const std::pair<std::string_view, FigureSet> (&table)[N], std::string_view key) {
  const auto* found = std::find_if(std::begin(table), std::end(table),
                                   [&](const auto& entry) { return entry.first == key; });
  return found == std::end(table) ? FigureSet::all() : found->second;
}

}  // namespace

bool losesMemoryCalls(std::string_view reason) {
  return reason != "return without entry" && figuresOfLoss(reason).has(Figures::kMemory);
}

std::string_view name(Figures figures) { return kNames[static_cast<size_t>(figures)]; }

std::vector<std::string_view> FigureSet::names() const {
  std::vector<std::string_view> list;
  for (size_t i = 0; i < kFigures; ++i)
    if (has(static_cast<Figures>(i))) list.push_back(kNames[i]);
  return list;
}

std::string listOf(FigureSet figures) { return fmt::format("{}", fmt::join(figures.names(), ",")); }

FigureSet figuresNamed(std::string_view list) {
  FigureSet set;
  while (!list.empty()) {
    size_t end = std::min(list.find(','), list.size());
    const auto* found = std::find(kNames.begin(), kNames.end(), list.substr(0, end));
    if (found == kNames.end()) return FigureSet::all();
    set.add(static_cast<Figures>(found - kNames.begin()));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return set.empty() ? FigureSet::all() : set;
}

FigureSet figuresOfLoss(std::string_view reason) { return find(kLossFigures, reason); }
FigureSet figuresOfTable(std::string_view table) { return find(kTables, table); }

std::string wordsOf(const Unwatched& unwatched) {
  std::string library = unwatched.library.substr(unwatched.library.rfind('/') + 1);
  std::string where = unwatched.function.empty() ? library
                      : library.empty()          ? unwatched.function
                                                 : unwatched.function + " of " + library;
  std::string words = where.empty() ? unwatched.reason : where + ": " + unwatched.reason;
  return unwatched.pid == 0 ? words : fmt::format("pid {}: {}", unwatched.pid, words);
}

void Incomplete::add(FigureSet figures, std::string words, bool is_older) {
  if (figures.empty()) return;
  figures_.add(figures);
  if (missing_.size() < kMaxMissing) {
    missing_.push_back({figures, std::move(words), is_older});
    return;
  }
  if (missing_.size() == kMaxMissing) missing_.push_back({{}, "and more"});
  missing_.back().figures.add(figures);
}

bool Incomplete::isAtLeast(FigureSet figures) const {
  return touches(figures) && std::all_of(missing_.begin(), missing_.end(), [&](const Missing& it) {
           return it.is_older || !it.figures.touches(figures);
         });
}

std::vector<std::string> Incomplete::words(FigureSet figures) const {
  std::vector<std::string> list;
  for (const Missing& it : missing_)
    if (it.figures.touches(figures)) list.push_back(it.words);
  return list;
}

std::vector<Unwatched> unwatchedOf(const RecordedWork& work) {
  std::vector<Unwatched> list;
  if (work.run == nullptr) return list;
  const RecordedRun& run = *work.run;
  const RecordedUnwatched& rows = run.unwatched;
  auto maybe = [](int64_t value) {
    return value == kNotRecorded ? std::nullopt : std::optional(value);
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    // For a process without a recorded call: it has no figures.
    bool of_silent_process = rows.process_id[i] == kNotRecorded && rows.pid[i] != kNotRecorded;
    bool of_other = rows.process_id[i] != kNotRecorded && rows.process_id[i] != work.process_id;
    bool none_has_calls = work.process_id < 0;
    if ((of_silent_process && !none_has_calls) || of_other) continue;
    Unwatched it;
    if (of_silent_process) it.pid = static_cast<uint32_t>(rows.pid[i]);
    it.begin_ns = maybe(rows.begin_ns[i]);
    it.end_ns = maybe(rows.end_ns[i]);
    it.library = run.strings.text(rows.library[i]);
    it.function = run.strings.text(rows.function[i]);
    it.figures = figuresNamed(run.strings.text(rows.figures[i]));
    it.reason = run.strings.text(rows.reason[i]);
    list.push_back(std::move(it));
  }
  return list;
}

namespace {

bool hasDeviceTimes(const RecordedWork& work) {
  const RecordedDevicePrograms& programs = work.run->device_programs;
  for (size_t i = 0; i < programs.size(); ++i)
    if (programs.process_id[i] == work.process_id &&
        work.run->strings.text(programs.outcome[i]) == "timed")
      return true;
  return false;
}

bool wasKilled(const RecordedWork& work) {
  std::optional<size_t> row = ownRow(work);
  if (!row) return false;
  int64_t status = work.run->processes.exit_status[*row];
  return status != kNotRecorded && (status & 0x7f) != 0;  // as of wait()
}

Incomplete missingOf(const RecordedWork& work, bool with_older) {
  Incomplete incomplete;
  if (work.run == nullptr) return incomplete;
  const RecordedRun& run = *work.run;
  std::map<std::string_view, uint64_t> lost;
  for (size_t i = 0; i < run.losses.size(); ++i) {
    if (run.losses.count[i] <= 0) continue;
    uint64_t& sum = lost[run.strings.text(run.losses.reason[i])];
    sum = std::min<uint64_t>(sum + static_cast<uint64_t>(run.losses.count[i]), INT64_MAX);
  }
  for (const auto& [reason, count] : lost)
    incomplete.add(figuresOfLoss(reason),
                   fmt::format("lost: {} × {}", base::withCommas(count), reason));
  for (const Unwatched& it : unwatchedOf(work))
    if (with_older || !isOlder(it))
      incomplete.add(it.figures, "not watched: " + wordsOf(it), lacksTheBeginning(it));
  for (const UnreadTable& table : run.unread)
    incomplete.add(figuresOfTable(table.table),
                   fmt::format("not read: table {}: {}", table.table, table.why));
  for (const PassedOverRows& it : run.passed_over)
    incomplete.add(figuresOfTable(it.table),
                   fmt::format("not read: {} of {} that contradict{} the rest",
                               base::counted(it.rows, "row"), it.table, it.rows == 1 ? "s" : ""));
  if (hasDeviceTimes(work) && wasKilled(work))
    incomplete.add({Figures::kDeviceTimes},
                   "a signal ended the program: what CUPTI had not delivered by then is missing");
  if (run.was_killed)
    incomplete.add(FigureSet::all(),
                   "the recording has no end, because its recorder was killed, the disk was full, "
                   "or the file was copied while it ran: what came later is missing, and launches "
                   "and copies of the last seconds before");
  if (run.is_cut_short)
    incomplete.add(FigureSet::all(), "not read: the file is cut short, its last page is not whole");
  return incomplete;
}

}  // namespace

bool isOlder(const Unwatched& unwatched) {
  return !unwatched.begin_ns && unwatched.end_ns && unwatched.library.empty() &&
         unwatched.function.empty();
}

bool lacksTheBeginning(const Unwatched& unwatched) {
  return isOlder(unwatched) ||
         (unwatched.begin_ns && unwatched.end_ns && unwatched.function.empty());
}

Incomplete incompleteOf(const RecordedWork& work) { return missingOf(work, true); }
Incomplete gapsOf(const RecordedWork& work) { return missingOf(work, false); }

}  // namespace tidegauge::model
