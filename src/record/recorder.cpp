#include "record/recorder.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "record/decode.h"
#include "record/elf_file.h"
#include "record/errors.h"
#include "record/functions.h"
#include "record/running_process.h"

namespace tidegauge::record {
namespace {

constexpr size_t kDrainStacksEvery = 256;  // calls
constexpr int64_t kLookEvery_ns = 20'000'000'000;
constexpr int64_t kUnused_ns = 60'000'000'000;
constexpr const char* kUsedBefore = "it was in use before it was watched";
constexpr const char* kRanBefore = "it ran before it was watched, and may hold memory from then";
// For a stack that another processor is about to send.
constexpr int kMostWaits = 20;
constexpr useconds_t kWait_us = 100;

int64_t toEpoch(uint64_t kernel_ns) { return evenClock().ofKernel_ns(kernel_ns); }

template <class Record, class Time>
void sortBy(std::vector<Record>& records, Time Record::*time) {
  std::stable_sort(records.begin(), records.end(),
                   [&](const Record& a, const Record& b) { return a.*time < b.*time; });
}

template <class Record>
void dropFirst(std::vector<Record>& records, size_t count) {
  records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

base::Result<std::unique_ptr<Recorder>> Recorder::start(const RecorderOptions& options,
                                                        RecorderSink& sink) {
  TG_ASSIGN_OR_RETURN(Programs programs, Programs::load(options.programs));
  std::unique_ptr<Recorder> recorder(new Recorder(std::move(programs), options, sink));
  if (!recorder->rings_.open(recorder->programs_, options.programs.launch_events) ||
      !recorder->unwinder_.ok())
    return limit(fmt::format("no memory for the rings: {}", std::strerror(errno)));
  recorder->counts_.start();
  return recorder;
}

Recorder::Recorder(Programs programs, const RecorderOptions& options, RecorderSink& sink)
    : programs_(std::move(programs)),
      probes_(programs_, options.framework),
      unwinder_(programs_),
      sink_(sink),
      counts_(programs_),
      name_glob_(options.name_glob),
      watch_all_(options.programs.watch_all),
      let_go_unused_(options.programs.watch_all || options.let_go_unused) {}

// Nobody may be left waiting: first no more are stopped, then all that were go on.
Recorder::~Recorder() {
  probes_.letGo();
  programs_.letGo();
  std::vector<system_record> last;
  rings_.takeSystem(last);
  for (const system_record& record : last)
    if (record.stopped != 0) kill(static_cast<pid_t>(record.tgid), SIGCONT);
}

base::Status Recorder::watch(uint32_t pid) {
  TG_RETURN_IF_ERROR(programs_.watchProcess(pid, false));
  // Asked now: had it ended before, its end would never be told; if it ends later, it is.
  if (!isRunning(pid)) {
    bpf_map_delete_elem(programs_.mapDescriptor("targets"), &pid);
    return base::Error{base::ErrorKind::kUsage, fmt::format("there is no process {}", pid), {}, {}};
  }
  watchRunning(pid);
  return base::okStatus();
}

base::Status Recorder::watchCommand(const Child& child, const std::string& program) {
  auto pid = static_cast<uint32_t>(child.pid());
  TG_RETURN_IF_ERROR(programs_.watchProcess(pid, true));
  from_start_.insert(pid);
  auto file = ElfFile::open(interpreterOfScript(program));
  if (file.ok() && !file.value().interpreter().empty())
    (void)probes_.watchLoader(file.value().interpreter());
  return base::okStatus();
}

base::Status Recorder::watchAllRunning() {
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return unreadable("/proc cannot be read");
  while (dirent* entry = readdir(folder)) {
    uint32_t pid = 0;
    std::string_view name = entry->d_name;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    if (pid != static_cast<uint32_t>(getpid())) watchRunning(pid);
  }
  closedir(folder);
  return base::okStatus();
}

bool Recorder::anyTargetRuns() const {
  uint32_t tgid = 0;
  return bpf_map_get_next_key(programs_.mapDescriptor("targets"), nullptr, &tgid) == 0;
}

// What it maps is learnt before its functions are watched, so that their first calls have stacks; and
// again, for it may have gone on meanwhile.
void Recorder::lookAtLibraries(uint32_t tgid, std::optional<int64_t> since_ns) {
  unwinder_.look(tgid);
  sink_.mappingsChanged(tgid);
  LibrariesOf found = probes_.watchLibrariesOf(tgid);
  if (!found.added.empty()) {
    unwinder_.look(tgid);
    sink_.mappingsChanged(tgid);
  }
  int64_t now_ns = evenClock().now_ns();
  int64_t at_ns = since_ns.value_or(now_ns);
  for (const WatchedLibrary& library : found.added) {
    sink_.libraryWatched(library);
    if (since_ns && library.functions > 0)
      sink_.unwatched(
          {since_ns, now_ns, tgid, library.path, {}, figuresOf(library.kind), kUsedBefore}, at_ns);
  }
  for (model::Unwatched& unwatched : found.unwatched) {
    unwatched.pid = tgid;
    sink_.unwatched(unwatched, at_ns);
  }
}

// What it held by then is not known.
void Recorder::watchRunning(uint32_t tgid) {
  // Of all processes of a machine only those that have CUDA are of interest.
  bool is_chosen = !watch_all_ || probes_.mapsLibraries(tgid);
  if (!is_chosen && probes_.watchLibrariesOf(tgid).kinds.empty()) return;
  lookAtLibraries(tgid, std::nullopt);
  model::FigureSet older;
  for (Library kind : probes_.watchLibrariesOf(tgid).kinds)
    older.add(kind == Library::kFramework ? model::Figures::kBlocks : model::Figures::kMemory);
  int64_t now_ns = evenClock().now_ns();
  if (!older.empty()) sink_.unwatched({{}, now_ns, tgid, {}, {}, older, kRanBefore}, now_ns);
}

void Recorder::urgent(const system_record& record) {
  if (record.event == SYSTEM_FORK) unwinder_.inherit(record.tgid, record.parent);
  if (record.event != SYSTEM_LIBRARIES && record.event != SYSTEM_EXEC) return;
  unwinder_.drain();  // what was before is by what was mapped before
  lookAtLibraries(record.tgid,
                  record.stopped != 0 ? std::nullopt : std::optional(toEpoch(record.time_ns)));
  if (record.stopped != 0) kill(static_cast<pid_t>(record.tgid), SIGCONT);
}

void Recorder::inOrder(const system_record& record) {
  switch (record.event) {
    case SYSTEM_FIRST_SEEN: {
      Running& it = running(record.tgid, &record);
      it.program = record.program;
      if (it.left_out)
        index_of_[record.program] = std::nullopt;
      else
        index_of_[record.program] = it.index;
      if (auto early = early_names_.extract(record.program); !early.empty())
        for (const name_record& name : early.mapped()) named(name);
      break;
    }
    case SYSTEM_FORK:
      (void)running(record.tgid, &record);
      break;
    case SYSTEM_EXEC:
      end(record.tgid, record.time_ns, std::nullopt);
      // Of the whole machine only those that make a call are told, at their first.
      if (!watch_all_) (void)running(record.tgid, &record);
      break;
    case SYSTEM_EXIT:
      end(record.tgid, record.time_ns, record.code);
      break;
    default:
      break;
  }
}

Recorder::Running& Recorder::running(uint32_t tgid, const system_record* seen) {
  auto found = running_.find(tgid);
  if (found != running_.end()) return found->second;
  Running& fresh = running_[tgid];
  SeenProcess process;
  process.pid = tgid;
  process.command = commandOf(tgid);
  process.name = nameOf(tgid);
  process.from_start =
      from_start_.contains(tgid) || (seen != nullptr && seen->event == SYSTEM_FORK);
  fresh.from_start = process.from_start;
  process.first_ns = toEpoch(seen != nullptr ? seen->time_ns : evenClock().kernelNow_ns());
  if (seen != nullptr) {
    process.parent = seen->parent;
    process.cgroup = seen->cgroup;
    if (process.name.empty()) process.name.assign(seen->text, strnlen(seen->text, 16));
  }
  fresh.left_out = !name_glob_.empty() && fnmatch(name_glob_.c_str(), process.name.c_str(), 0) != 0;
  if (fresh.left_out) return fresh;
  process.index = fresh.index = next_index_++;
  sink_.processSeen(process);
  return fresh;
}

void Recorder::end(uint32_t tgid, uint64_t time_ns, std::optional<int> status) {
  auto found = running_.find(tgid);
  if (found == running_.end()) return;
  if (found->second.program != 0) ended_programs_.push_back(found->second.program);
  if (found->second.left_out) {
    running_.erase(found);
    return;
  }
  sink_.processEnded(found->second.index, toEpoch(time_ns), status);
  if (status) unwinder_.forget(tgid);  // after exec the new program is there already
  running_.erase(found);
}

void Recorder::tellStack(Running& process, int32_t stack) {
  if (stack < 0 || !process.stacks.insert(stack).second) return;
  // Told before the call was; but the ring hands out nothing while an earlier place in it is still
  // being written, on another processor.
  auto frames = unwinder_.take(static_cast<uint32_t>(stack));
  for (int i = 0; i < kMostWaits && !frames; ++i) {
    if (i > 0) usleep(kWait_us);
    unwinder_.drain();
    frames = unwinder_.take(static_cast<uint32_t>(stack));
  }
  if (frames) sink_.stackSeen(process.index, static_cast<uint32_t>(stack), *frames);
}

void Recorder::memoryCall(const memory_record& record) {
  if (record.function >= watchedFunctions().size()) return;
  Running& process = running(record.tgid);
  if (process.left_out) return;
  tellStack(process, record.stack);
  model::MemoryCall call = decoded(record, process.from_start);
  call.start_ns = toEpoch(record.start_ns);
  call.end_ns = toEpoch(record.end_ns);
  call.process = process.index;
  sink_.call(call);
}

void Recorder::named(const name_record& record) {
  auto index = index_of_.find(record.program);
  if (index == index_of_.end() || !index->second) return;
  KernelName name;
  name.process = *index->second;
  name.handle = record.handle;
  name.made_from = record.of;
  name.name.assign(record.name, strnlen(record.name, sizeof(record.name)));
  sink_.kernelNamed(name);
}

// A name may come before its program was told in order; after its end it is of no use.
void Recorder::takeNames() {
  std::vector<name_record> names;
  rings_.takeNames(names);
  for (const name_record& record : names) {
    if (index_of_.contains(record.program))
      named(record);
    else
      early_names_[record.program].push_back(record);
  }
}

void Recorder::launched(const launch_record& record) {
  Running& process = running(record.tgid);
  if (process.left_out) return;
  tellStack(process, record.stack);
  Launch launch = decoded(record);
  launch.what.process = process.index;
  launch.time_ns = toEpoch(record.time_ns);
  sink_.launched(launch);
}

void Recorder::takeUrgent() {
  size_t known = system_records_.size();
  rings_.takeSystem(system_records_);
  for (size_t i = known; i < system_records_.size(); ++i) urgent(system_records_[i]);
}

void Recorder::inOrderUntil(uint64_t time_ns) {
  size_t done = 0;
  while (done < system_records_.size() && system_records_[done].time_ns <= time_ns)
    inOrder(system_records_[done++]);
  dropFirst(system_records_, done);
}

size_t Recorder::poll(int timeout_ms) {
  // A process may be stopped for an event: those are handled as soon as they come.
  rings_.wait(timeout_ms);
  takeUrgent();
  uint64_t until_ns = rings_.takeCalls(memory_records_, launch_records_);
  takeNames();
  unwinder_.drain();
  takeUrgent();

  // Merge by time. What is newer than `until_ns` waits: something before it may still come.
  sortBy(memory_records_, &memory_record::end_ns);
  sortBy(launch_records_, &launch_record::time_ns);
  sortBy(system_records_, &system_record::time_ns);
  size_t calls = 0, launches = 0;
  for (size_t done = 0;;) {
    uint64_t call_ns = calls < memory_records_.size() ? memory_records_[calls].end_ns : UINT64_MAX;
    uint64_t launch_ns =
        launches < launch_records_.size() ? launch_records_[launches].time_ns : UINT64_MAX;
    uint64_t next_ns = std::min(call_ns, launch_ns);
    if (next_ns > until_ns) break;
    // A stack that is new waits for its rules: the sooner they come, the fewer copies are made.
    if (++done % kDrainStacksEvery == 0) unwinder_.drain();
    if (!system_records_.empty() && system_records_.front().time_ns <= next_ns)
      inOrderUntil(next_ns);
    if (launch_ns < call_ns)
      launched(launch_records_[launches++]);
    else
      memoryCall(memory_records_[calls++]);
  }
  inOrderUntil(until_ns);
  dropFirst(memory_records_, calls);
  dropFirst(launch_records_, launches);
  return calls;
}

void Recorder::finish() {
  for (int i = 0; i < 1000 && poll(0) > 0; ++i) {
  }
  (void)poll(0);
}

// Hands out those rows whose program was told; true keeps a row for the next time.
template <class Key, class Value, class Tell>
void Recorder::tellRows(std::vector<std::pair<Key, Value>>& rows, const Tell& tell) {
  std::erase_if(rows, [&](const auto& row) {
    auto index = index_of_.find(row.first.program);
    if (index == index_of_.end()) return false;
    if (index->second) tell(*index->second, row.first, row.second);
    return true;
  });
}

void Recorder::tellCounts() {
  TakenCounts taken = counts_.take();
  auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  add(untold_.launches, taken.launches);
  add(untold_.beyond, taken.beyond);
  add(untold_.copies, taken.copies);
  std::vector<LaunchCount> launches;
  std::vector<CopyCount> copies;
  tellRows(untold_.launches, [&](uint32_t process, const launch_key& key, uint64_t calls) {
    if (key.function >= watchedFunctions().size()) return;
    LaunchCount& count = launches.emplace_back(decoded(key));
    count.process = process;
    count.launches = calls;
  });
  tellRows(untold_.beyond, [&](uint32_t process, const beyond_key& key, uint64_t calls) {
    LaunchCount& count = launches.emplace_back();
    count.process = process;
    count.function = key.function;
    count.launches = calls;
  });
  tellRows(untold_.copies, [&](uint32_t process, const copy_key& key, const copy_sum& sum) {
    CopyCount& count = copies.emplace_back(decoded(key));
    count.process = process;
    record::add(count, sum);
  });
  sink_.launchesSeen(launches);
  sink_.copiesSeen(copies);
  if (let_go_unused_ && evenClock().now_ns() - looked_ns_ >= kLookEvery_ns) {
    looked_ns_ = evenClock().now_ns();
    (void)probes_.letGoOfUnused(looked_ns_, kUnused_ns);
  }
  // Those had ended before the tables changed places: that was their last.
  for (uint32_t program : ended_programs_) {
    index_of_.erase(program);
    early_names_.erase(program);
    counts_.forget(program);
  }
  ended_programs_.clear();
}

}  // namespace tidegauge::record
