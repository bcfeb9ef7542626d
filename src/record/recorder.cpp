#include "record/recorder.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>
#include <thread>

#include "record/decode.h"
#include "record/elf_file.h"
#include "record/errors.h"
#include "record/running_process.h"

namespace tidegauge::record {
namespace {

constexpr std::chrono::milliseconds kDrainEvery{5};
constexpr size_t kMostWaiting = size_t{2} << 20;  // 160 MiB: four seconds at 500,000 a second
constexpr size_t kDrainStacksEvery = 256;         // calls
constexpr const char* kUsedBefore = "it was in use before it was watched";
constexpr const char* kRanBefore = "it ran before it was watched, and may hold memory from then";
// For a stack that another processor is about to send.
constexpr int kMostWaits = 20;
constexpr useconds_t kWait_us = 100;

uint64_t clockNow(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

// CLOCK_MONOTONIC as the kernel's programs read it: in a time namespace this process sees another.
// The file says by how much: "monotonic  100000  0", seconds and ns.
uint64_t kernelNow() {
  static const int64_t offset_ns = [] {
    std::ifstream file("/proc/self/timens_offsets");
    std::string clock;
    int64_t whole = 0, ns = 0;
    while (file >> clock >> whole >> ns)
      if (clock == "monotonic") return whole * 1'000'000'000 + ns;
    return int64_t{0};
  }();
  return clockNow(CLOCK_MONOTONIC) - static_cast<uint64_t>(offset_ns);
}

// The step between the two clocks, by the closest pair of several readings.
int64_t epochOffset() {
  int64_t best = 0;
  uint64_t closest = ~uint64_t{0};
  for (int i = 0; i < 5; ++i) {
    uint64_t before = kernelNow();
    uint64_t epoch = clockNow(CLOCK_REALTIME);
    uint64_t after = kernelNow();
    if (after - before >= closest) continue;
    closest = after - before;
    best = static_cast<int64_t>(epoch) - static_cast<int64_t>(before + (after - before) / 2);
  }
  return best;
}

template <class Record>
int keep(void* list, void* data, size_t size) {
  if (size < sizeof(Record)) return 0;
  Record record;
  std::memcpy(&record, data, sizeof(record));
  static_cast<std::vector<Record>*>(list)->push_back(record);
  return 0;
}

// Calls visit(key, one Value per processor) for each row of a per-processor table; a row that visit()
// says is done with is deleted.
template <class Key, class Value, class Visit>
void eachRow(int map, const Visit& visit) {
  std::vector<Value> values(static_cast<size_t>(std::max(libbpf_num_possible_cpus(), 1)));
  std::vector<Key> keys;
  Key key{}, next{};
  for (void* from = nullptr; bpf_map_get_next_key(map, from, &next) == 0; from = &key) {
    key = next;
    keys.push_back(key);
  }
  for (const Key& row : keys)
    if (bpf_map_lookup_elem(map, &row, values.data()) == 0 && visit(row, values))
      bpf_map_delete_elem(map, &row);
}

}  // namespace

struct Recorder::Rings {
  ring_buffer* memory = nullptr;
  ring_buffer* system = nullptr;
  ring_buffer* names = nullptr;
  std::vector<memory_record> memory_records;
  // Who handles calls may be busy for longer than the ring lasts (a file that is committed, a disk that
  // is slow): meanwhile a thread of its own empties the ring into `waiting`.
  std::mutex mutex;
  std::condition_variable ends;
  std::vector<memory_record> waiting;
  uint64_t drained_at = 0;  // what was written before then is in `waiting`
  bool is_over = false;
  std::thread drainer;
  std::vector<system_record> system_records;
  std::vector<name_record> name_records;
  ring_buffer* launches = nullptr;  // only if each launch is asked for
  std::vector<launch_record> launch_records;

  // With the mutex held. A full `waiting` leaves the rest in the ring, where losses are counted.
  void drain() {
    if (waiting.size() >= kMostWaiting) return;
    drained_at = kernelNow();
    ring_buffer__consume(memory);
  }
  void startDrainer() {
    drainer = std::thread([this] {
      std::unique_lock lock(mutex);
      while (!ends.wait_for(lock, kDrainEvery, [this] { return is_over; })) drain();
    });
  }
  ~Rings() {
    {
      std::lock_guard lock(mutex);
      is_over = true;
    }
    ends.notify_all();
    if (drainer.joinable()) drainer.join();
    ring_buffer__free(memory);
    ring_buffer__free(system);
    ring_buffer__free(names);
    ring_buffer__free(launches);
  }
};

base::Result<std::unique_ptr<Recorder>> Recorder::start(const RecorderOptions& options,
                                                        RecorderSink& sink) {
  TG_ASSIGN_OR_RETURN(Programs programs, Programs::load(options.programs));
  std::unique_ptr<Recorder> recorder(new Recorder(std::move(programs), options, sink));
  Rings& rings = *recorder->rings_;
  const Programs& held = recorder->programs_;
  rings.memory = ring_buffer__new(held.mapDescriptor("memory_ring"), keep<memory_record>,
                                  &rings.waiting, nullptr);
  rings.system = ring_buffer__new(held.mapDescriptor("system_ring"), keep<system_record>,
                                  &rings.system_records, nullptr);
  rings.names = ring_buffer__new(held.mapDescriptor("name_ring"), keep<name_record>,
                                 &rings.name_records, nullptr);
  if (options.programs.launch_events)
    rings.launches = ring_buffer__new(held.mapDescriptor("launch_ring"), keep<launch_record>,
                                      &rings.launch_records, nullptr);
  if (rings.memory == nullptr || rings.system == nullptr || rings.names == nullptr ||
      !recorder->unwinder_.ok())
    return limit(fmt::format("no memory for the rings: {}", std::strerror(errno)));
  rings.startDrainer();
  return recorder;
}

Recorder::Recorder(Programs programs, const RecorderOptions& options, RecorderSink& sink)
    : programs_(std::move(programs)),
      probes_(programs_, options.framework),
      unwinder_(programs_),
      sink_(sink),
      rings_(std::make_unique<Rings>()),
      epoch_offset_ns_(epochOffset()),
      name_glob_(options.name_glob),
      watch_all_(options.programs.watch_all) {}

Recorder::~Recorder() = default;

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
  int64_t now_ns = toEpoch(kernelNow());
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
  int64_t now_ns = toEpoch(kernelNow());
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
    case SYSTEM_FIRST_SEEN:
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
  process.first_ns = toEpoch(seen != nullptr ? seen->time_ns : kernelNow());
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
  if (found->second.left_out) {
    running_.erase(found);
    return;
  }
  sink_.launchesSeen(launches(tgid, true));
  sink_.copiesSeen(copies(tgid, true));
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
  const Running& process = running(record.tgid);
  if (process.left_out) return;
  KernelName name;
  name.process = process.index;
  name.handle = record.handle;
  name.made_from = record.of;
  name.name.assign(record.name, strnlen(record.name, sizeof(record.name)));
  sink_.kernelNamed(name);
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

size_t Recorder::poll(int timeout_ms) {
  Rings& rings = *rings_;
  // A process may be stopped for an event: those are handled as soon as they come.
  epoll_event event{};
  (void)epoll_wait(ring_buffer__epoll_fd(rings.system), &event, 1, timeout_ms);
  size_t known = rings.system_records.size();
  ring_buffer__consume(rings.system);
  for (size_t i = known; i < rings.system_records.size(); ++i) urgent(rings.system_records[i]);

  {
    std::lock_guard lock(rings.mutex);
    rings.drain();
    rings.memory_records.swap(rings.waiting);
  }
  uint64_t drained_at = rings.drained_at;
  ring_buffer__consume(rings.names);
  for (const name_record& record : rings.name_records) named(record);
  rings.name_records.clear();
  if (rings.launches != nullptr) ring_buffer__consume(rings.launches);
  for (const launch_record& record : rings.launch_records) launched(record);
  rings.launch_records.clear();
  unwinder_.drain();
  known = rings.system_records.size();
  ring_buffer__consume(rings.system);
  for (size_t i = known; i < rings.system_records.size(); ++i) urgent(rings.system_records[i]);

  // Merge by time. An event after the calls were drained waits: calls before it may still come.
  auto by_end = [](const memory_record& a, const memory_record& b) { return a.end_ns < b.end_ns; };
  std::stable_sort(rings.memory_records.begin(), rings.memory_records.end(), by_end);
  auto by_time = [](const system_record& a, const system_record& b) {
    return a.time_ns < b.time_ns;
  };
  std::stable_sort(rings.system_records.begin(), rings.system_records.end(), by_time);
  size_t next = 0, calls = rings.memory_records.size();
  auto events_until = [&](uint64_t time_ns) {
    while (next < rings.system_records.size() && rings.system_records[next].time_ns <= time_ns)
      inOrder(rings.system_records[next++]);
  };
  size_t done = 0;
  for (const memory_record& record : rings.memory_records) {
    // A stack that is new waits for its rules: the sooner they come, the fewer copies are made.
    if (++done % kDrainStacksEvery == 0) unwinder_.drain();
    events_until(std::min<uint64_t>(record.end_ns, drained_at));
    memoryCall(record);
  }
  events_until(drained_at);
  rings.memory_records.clear();
  rings.system_records.erase(rings.system_records.begin(),
                             rings.system_records.begin() + static_cast<std::ptrdiff_t>(next));
  return calls;
}

void Recorder::finish() {
  for (int i = 0; i < 1000 && poll(0) > 0; ++i) {
  }
  (void)poll(0);
}

std::vector<LaunchCount> Recorder::launches(uint32_t tgid, bool clear) const {
  std::vector<LaunchCount> counts;
  eachRow<launch_key, uint64_t>(programs_.mapDescriptor("launches"), [&](const launch_key& key,
                                                                         const auto& values) {
    auto process = running_.find(key.tgid);
    if (process == running_.end() || process->second.left_out || (tgid != 0 && key.tgid != tgid))
      return false;
    LaunchCount count = decoded(key);
    count.process = process->second.index;
    for (uint64_t value : values) count.launches += value;
    counts.push_back(count);
    return clear;
  });
  return counts;
}

std::vector<CopyCount> Recorder::copies(uint32_t tgid, bool clear) const {
  std::vector<CopyCount> counts;
  eachRow<copy_key, copy_sum>(programs_.mapDescriptor("copies"), [&](const copy_key& key,
                                                                     const auto& values) {
    auto process = running_.find(key.tgid);
    if (process == running_.end() || process->second.left_out || (tgid != 0 && key.tgid != tgid))
      return false;
    CopyCount count = decoded(key);
    count.process = process->second.index;
    for (const copy_sum& value : values) add(count, value);
    counts.push_back(count);
    return clear;
  });
  return counts;
}

}  // namespace tidegauge::record
