// Which processes and libraries a recorder watches: the requested ones, what they map later, and
// what is released when they are gone.
#include <bpf/bpf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "bpf/processes/hold_records.h"
#include "record/code/elf_file.h"
#include "record/code/loader_cache.h"
#include "record/process/errors.h"
#include "record/process/helper.h"
#include "record/process/running_process.h"
#include "record/recorder.h"

namespace tidegauge::record {
namespace {

constexpr int64_t kLookEvery_ns = 20'000'000'000;
constexpr int64_t kUnused_ns = 60'000'000'000;
constexpr const char* kUsedBefore = "it was in use before it was watched";
constexpr const char* kNotExamined = "it ended before its libraries were examined";
constexpr const char* kRanBefore = "it ran before it was watched, and may hold memory from then";

bool isOfCuda(std::string_view path) { return libraryKind(path).has_value(); }

}  // namespace

base::Status Recorder::watch(uint32_t pid) {
  TG_RETURN_IF_ERROR(programs_.watchProcess(pid, false));
  // Checked now: if it had ended before, its end would never be reported; a later end is.
  if (!isRunning(pid)) {
    bpf_map_delete_elem(programs_.mapDescriptor("targets"), &pid);
    return base::Error{base::ErrorKind::kUsage, fmt::format("there is no process {}", pid), {}, {}};
  }
  watchRunning(pid);
  return base::okStatus();
}

base::Status Recorder::watchCommand(const Child& child, const std::string& program,
                                    const std::string& library_path) {
  auto pid = static_cast<uint32_t>(child.pid());
  TG_RETURN_IF_ERROR(programs_.watchProcess(pid, true));
  from_start_.insert(pid);
  std::string path = interpreterOfScript(program);
  if (auto file = ElfFile::open(path); file.ok()) {
    std::string loader = file.value().interpreter();
    if (loader.empty() && isLoader(path)) loader = path;
    if (!loader.empty()) (void)probes_.watchLoader(loader);
  }
  auto own = static_cast<uint32_t>(getpid());
  watchAtHand(own);
  if (!library_path.empty()) probes_.watchFiles(own, filesOfPath(library_path, isOfCuda));
  return base::okStatus();
}

base::Status Recorder::watchAllRunning() {
  std::vector<uint32_t> all = runningProcesses();
  if (all.empty()) return unreadable("/proc cannot be read");
  std::set<FileId> roots;
  auto isNewRoot = [&](uint32_t pid) {
    struct stat root {};
    return stat(fmt::format("/proc/{}/root", pid).c_str(), &root) == 0 &&
           roots.insert({root.st_dev, root.st_ino}).second;
  };
  auto own = static_cast<uint32_t>(getpid());
  if (isNewRoot(own)) watchAtHand(own);
  for (uint32_t pid : all) {
    if (pid == own) continue;
    watchRunning(pid);
    if (isNewRoot(pid)) watchAtHand(pid);  // a container's
  }
  return base::okStatus();
}

// The CUDA libraries that the loader would find, before a process maps them: the first one that did
// would call them before its probes are placed.
void Recorder::watchAtHand(uint32_t tgid) {
  std::string cache = readable(fmt::format("/proc/{}/root/etc/ld.so.cache", tgid));
  probes_.watchFiles(tgid, pathsOfLoaderCache(cache, isOfCuda));
}

bool Recorder::anyTargetRuns() const {
  uint32_t tgid = 0;
  return bpf_map_get_next_key(programs_.mapDescriptor("targets"), nullptr, &tgid) == 0;
}

// Learns its mappings before its functions are watched, so that their first calls have stacks; and
// again, since it may have continued meanwhile.
std::vector<WatchedLibrary> Recorder::lookAtLibraries(uint32_t tgid, const Since& since,
                                                      bool is_meant) {
  // If all processes of a machine are watched, only those with CUDA matter.
  bool has_cuda = !watch_all_ || running_.contains(tgid) || probes_.mapsLibraries(tgid);
  if (has_cuda) learnCode(tgid);
  LibrariesOf found = probes_.watchLibrariesOf(tgid);
  std::optional<int64_t> since_ns = since();
  bool is_new = !found.added.empty();
  if (!has_cuda && !is_new && found.unwatched.empty()) return {};
  if (!has_cuda || is_new) learnCode(tgid);
  int64_t now_ns = evenClock().now_ns();
  int64_t at_ns = since_ns.value_or(now_ns);
  for (const WatchedLibrary& library : found.added) sink_.libraryWatched(library);
  if (!is_meant) return found.mapped;  // others may use the same libraries
  // Also if another process was the first to map it: its probes may have been under way.
  for (const WatchedLibrary& library : found.mapped) {
    if (!since_ns || library.placed_ns <= *since_ns) continue;
    incomplete_.insert(tgid);
    sink_.unwatched(
        {since_ns, library.placed_ns, tgid, library.path, {}, figuresOf(library.kind), kUsedBefore},
        at_ns);
  }
  for (model::Unwatched& unwatched : found.unwatched) {
    unwatched.pid = tgid;
    sink_.unwatched(unwatched, at_ns);
  }
  return found.mapped;
}

// A program that nothing held, and that ended before its mappings could be read.
void Recorder::notExamined(uint32_t tgid, int64_t since_ns) {
  if (!probes_.anyPlacedSince(since_ns)) return;
  incomplete_.insert(tgid);
  sink_.unwatched(
      {since_ns, evenClock().now_ns(), tgid, {}, {}, model::FigureSet::all(), kNotExamined},
      since_ns);
}

void Recorder::learnCode(uint32_t tgid) {
  unwinder_.look(tgid);
  if (walks_python_) learnPython(tgid);
  sink_.mappingsChanged(tgid);
  if (watch_all_) learnt_[tgid] = false;
}

void Recorder::learnPython(uint32_t tgid) {
  std::optional<RunningPython> python = pythons_.look(tgid);
  if (!python) return;
  unwinder_.setPythonLoops(tgid, std::move(python->loops));
  if (!python->problem.empty()) sink_.pythonMissing(python->problem);
}

// Runs now and then; libraries of explicitly requested processes stay.
void Recorder::releaseUnused() {
  int64_t now_ns = evenClock().now_ns();
  if (!let_go_unused_ || now_ns - looked_ns_ < kLookEvery_ns) return;
  looked_ns_ = now_ns;
  if (!probes_.releaseUnused(now_ns, kUnused_ns).empty()) gates_.forgetFiles();
  if (watch_all_) forgetGone();
}

void Recorder::forgetGone() {
  for (auto at = learnt_.begin(); at != learnt_.end();) {
    auto& [tgid, was_gone] = *at;
    bool is_gone = !running_.contains(tgid) && !isRunning(tgid);
    if (!is_gone || !std::exchange(was_gone, true)) {  // its last calls may not have arrived
      was_gone = is_gone;
      ++at;
      continue;
    }
    unwinder_.forget(tgid);
    sink_.mappingsForgotten(tgid);
    at = learnt_.erase(at);
  }
}

// What it holds already is unknown.
void Recorder::watchRunning(uint32_t tgid) {
  model::FigureSet older;
  bool is_meant = isNameMeant(nameOf(tgid)) && (!cgroup_ || isInCgroup(tgid, *cgroup_));
  auto mapped = lookAtLibraries(
      tgid, [] { return std::nullopt; }, is_meant);
  if (!is_meant) return;
  for (const WatchedLibrary& library : mapped)
    older.add(library.kind == Library::kFramework ? model::Figures::kBlocks
                                                  : model::Figures::kMemory);
  int64_t now_ns = evenClock().now_ns();
  if (!older.empty()) sink_.unwatched({{}, now_ns, tgid, {}, {}, older, kRanBefore}, now_ns);
}

bool Recorder::isMeant(const system_record& record) const {
  if (cgroup_ && record.cgroup == 0) return false;
  std::string name = nameOf(record.tgid);
  if (name.empty()) name.assign(record.text, strnlen(record.text, sizeof(record.text)));
  return isNameMeant(name);
}

void Recorder::urgent(const system_record& record) {
  if (record.event == SYSTEM_FORK) unwinder_.inherit(record.tgid, record.parent);
  if (record.event != SYSTEM_LIBRARIES && record.event != SYSTEM_EXEC) return;
  unwinder_.drain();  // earlier stacks belong to the earlier mappings
  bool at_gate = record.stopped == STOPPED_AT_GATE;
  auto ticket = static_cast<uint32_t>(record.code);
  auto since = [&]() -> std::optional<int64_t> {
    bool waits = at_gate ? gates_.isClosed(ticket)
                         : record.stopped != NOT_STOPPED && record.stopped != NOT_HELD;
    return waits ? std::nullopt : std::optional(evenClock().ofKernel_ns(record.time_ns));
  };
  bool is_meant = isMeant(record);
  bool watched = !lookAtLibraries(record.tgid, since, is_meant).empty();
  if (at_gate) gates_.open(ticket, watched);
  if (record.stopped == NOT_HELD && !watched && is_meant)
    notExamined(record.tgid, evenClock().ofKernel_ns(record.time_ns));
  if (record.stopped != STOPPED_BY_SIGNAL) return;
  if (record.event == SYSTEM_EXEC && !Probes::hasLoader(record.tgid))
    gates_.know(fmt::format("/proc/{}/exe", record.tgid), watched);
  continueProcess(static_cast<pid_t>(record.tgid));
}

void Recorder::takeUrgent() {
  std::vector<system_record>& records = order_.system();
  size_t known = records.size();
  rings_.takeSystem(records);
  auto waits = [](const system_record& record) { return record.stopped == STOPPED_AT_GATE; };
  std::optional<Hurry> hurry;
  if (std::any_of(records.begin() + static_cast<std::ptrdiff_t>(known), records.end(), waits))
    hurry.emplace();
  for (size_t i = known; i < records.size(); ++i) urgent(records[i]);
}

}  // namespace tidegauge::record
