#include "record/kernel/probes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "record/code/elf_file.h"
#include "record/kernel/even_clock.h"
#include "record/process/errors.h"
#include "record/process/running_process.h"

namespace tidegauge::record {
namespace {

std::map<FileId, std::set<uint32_t>> mappedBy(const auto& processes) {
  std::map<FileId, std::set<uint32_t>> users;
  for (uint32_t pid : processes)
    for (const Mapping& mapping : executableMappings(pid)) users[mapping.file].insert(pid);
  return users;
}

// A file as /proc/PID/maps identifies it: on some file systems stat() gives another device.
std::optional<FileId> idInMappings(const std::string& path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* mapped = mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, descriptor, 0);
  close(descriptor);
  if (mapped == MAP_FAILED) return std::nullopt;
  std::optional<FileId> id;
  for (const Mapping& mapping : executableMappings(static_cast<uint32_t>(getpid())))
    if (mapping.start == reinterpret_cast<uintptr_t>(mapped)) id = mapping.file;
  munmap(mapped, page);
  return id;
}

// Whether the recorder's own root has that file there.
bool isOwnFile(const std::string& path, FileId file) {
  std::optional<FileId> own = idInMappings(path);
  return own && *own == file;
}

bool sameFile(const std::string& path, FileId& id) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return false;
  id = {status.st_dev, status.st_ino};
  return true;
}

}  // namespace

Probes::Probes(Programs& programs, bool framework)
    : programs_(programs), library_probes_(programs), framework_(framework) {}

Probes::~Probes() { detach(); }

void Probes::detach() {
  for (auto& [file, attached] : attached_) attached.probes.detach(programs_);
  attached_.clear();
  for (int link : loader_links_) close(link);
  loader_links_.clear();
}

std::vector<std::string> Probes::releaseUnused(int64_t now_ns, int64_t unused_ns) {
  std::set<uint32_t> asked;
  for (auto& [file, attached] : attached_)
    asked.insert(attached.users.begin(), attached.users.end());
  std::map<FileId, std::set<uint32_t>> users = mappedBy(asked);
  bool is_any_due = false;
  for (auto& [file, attached] : attached_) {
    attached.users = users[file];
    if (!attached.users.empty())
      attached.unused_since_ns.reset();
    else if (!attached.unused_since_ns)
      attached.unused_since_ns = now_ns;
    if (attached.stays) attached.stays = isOwnFile(attached.path, file);
    if (attached.stays) attached.unused_since_ns.reset();
    is_any_due |= attached.unused_since_ns && now_ns - *attached.unused_since_ns >= unused_ns;
  }
  std::vector<std::string> gone;
  if (!is_any_due) return gone;
  // a child has its parent's mappings, which nothing reported
  users = mappedBy(runningProcesses());
  for (auto at = attached_.begin(); at != attached_.end();) {
    Attached& attached = at->second;
    bool is_due = attached.unused_since_ns && now_ns - *attached.unused_since_ns >= unused_ns;
    if (is_due && users[at->first].empty()) {
      gone.push_back(attached.path);
      detach((at++)->first);
      continue;
    }
    if (is_due) {
      attached.users = users[at->first];
      attached.unused_since_ns.reset();
    }
    ++at;
  }
  // Most files without watched functions are gone for good.
  if (!gone.empty()) std::erase_if(known_, [](const auto& entry) { return !entry.second.carries; });
  return gone;
}

void Probes::detach(FileId file) {
  if (auto attached = attached_.find(file); attached != attached_.end()) {
    attached->second.probes.detach(programs_);
    attached_.erase(attached);
  }
  known_.erase(file);
  watched_.erase(file);
  unwatched_.erase(file);
  at_hand_.erase(file);
  std::erase_if(libraries_, [&](const auto& library) { return library.file == file; });
}

std::optional<Probes::Stamp> Probes::stampOf(uint32_t tgid, const Mapping& mapping) {
  auto ns = [](const timespec& time) {
    return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
  };
  struct stat file {};
  if (stat(pathFromHere(tgid, mapping).c_str(), &file) != 0) return std::nullopt;
  return Stamp{ns(file.st_ctim), ns(file.st_mtim), file.st_size};
}

// A new link to the file or another mode does not matter for watched files; for others, any change
// does.
bool Probes::isAsBefore(const Examined& examined, uint32_t tgid, const Mapping& mapping) const {
  std::optional<Stamp> now = stampOf(tgid, mapping);
  if (!now) return true;  // it is gone
  const std::optional<Stamp>& then = examined.stamp;
  return then && now->modified_ns == then->modified_ns && now->bytes == then->bytes &&
         (examined.carries || now->changed_ns == then->changed_ns);
}

LibrariesOf Probes::watchLibrariesOf(uint32_t tgid) {
  LibrariesOf found;
  std::vector<Mapping> mappings = executableMappings(tgid);
  std::string program = programOf(tgid);
  watchLoaderOf(tgid);
  bool by_loader = runsLoader(tgid);
  std::set<FileId> seen;
  auto addUnwatched = [&](const Mapping& mapping) {
    if (!seen.insert(mapping.file).second) return;
    if (auto gaps = unwatched_.find(mapping.file); gaps != unwatched_.end())
      found.unwatched.insert(found.unwatched.end(), gaps->second.begin(), gaps->second.end());
    if (auto watched = watched_.find(mapping.file); watched != watched_.end())
      found.mapped.push_back(watched->second);
  };
  for (const Mapping& mapping : mappings) {
    if (auto attached = attached_.find(mapping.file); attached != attached_.end())
      attached->second.users.insert(tgid);
    if (mapping.file.inode == 0) continue;
    if (auto known = known_.find(mapping.file); known != known_.end()) {
      if (seen.contains(mapping.file) || isAsBefore(known->second, tgid, mapping)) {
        addUnwatched(mapping);
        if (auto at_hand = at_hand_.extract(mapping.file)) {
          libraries_.push_back(at_hand.mapped());
          found.added.push_back(std::move(at_hand.mapped()));
        }
        continue;
      }
      detach(mapping.file);
    }
    std::optional<Library> kind = libraryKind(mapping.path);
    // The runtime is usually linked statically into programs.
    bool is_program = !kind && (by_loader ? mapping.path.find(".so") == std::string::npos
                                          : mapping.path == program);
    if (is_program) kind = Library::kRuntime;
    if (!kind || (*kind == Library::kFramework && !framework_)) continue;
    if (auto library = examine(tgid, mapping, *kind, is_program)) {
      libraries_.push_back(*library);
      found.added.push_back(std::move(*library));
    }
    if (known_.contains(mapping.file)) addUnwatched(mapping);
  }
  return found;
}

std::optional<WatchedLibrary> Probes::examine(uint32_t tgid, const Mapping& mapping, Library kind,
                                              bool is_program) {
  std::optional<Stamp> stamp = stampOf(tgid, mapping);
  std::optional<WatchedLibrary> watched = watch(tgid, mapping, kind);
  if (!watched) return watched;  // the process is gone: another one may have the same library
  WatchedLibrary& library = *watched;
  library.placed_ns = evenClock().now_ns();
  known_[mapping.file] = {library.functions > 0, stamp};
  // A program without CUDA: nothing to report.
  if (is_program && library.functions == 0 && library.unwatched.empty()) return std::nullopt;
  if (library.functions > 0) watched_[mapping.file] = library;
  if (!library.unwatched.empty()) unwatched_[mapping.file] = library.unwatched;
  return watched;
}

void Probes::watchFiles(uint32_t tgid, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::optional<Library> kind = libraryKind(path);
    if (!kind || (*kind == Library::kFramework && !framework_)) continue;
    std::string from_here = fmt::format("/proc/{}/root{}", tgid, path);
    std::optional<FileId> file = idInMappings(from_here);
    if (!file || known_.contains(*file)) continue;
    Mapping mapping;
    mapping.file = *file;
    mapping.path = path;
    auto library = examine(tgid, mapping, *kind, false);
    if (!library) continue;
    at_hand_[*file] = std::move(*library);
    auto attached = attached_.find(*file);
    if (attached != attached_.end()) attached->second.stays = isOwnFile(path, *file);
  }
}

bool Probes::anyPlacedSince(int64_t time_ns) const {
  return std::any_of(watched_.begin(), watched_.end(),
                     [&](const auto& file) { return file.second.placed_ns > time_ns; });
}

bool Probes::mapsLibraries(uint32_t tgid) const {
  std::vector<Mapping> mappings = executableMappings(tgid);
  return std::any_of(mappings.begin(), mappings.end(), [&](const Mapping& mapping) {
    return watched_.contains(mapping.file) || libraryKind(mapping.path);
  });
}

std::optional<WatchedLibrary> Probes::watch(uint32_t tgid, const Mapping& mapping, Library kind) {
  WatchedLibrary library;
  library.file = mapping.file;
  library.path = mapping.path;
  library.kind = kind;
  // Keep it open: its path leads through the process, which may end at any moment.
  int descriptor = open(pathFromHere(tgid, mapping).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    int why = errno;
    if (kill(static_cast<pid_t>(tgid), 0) != 0 && errno == ESRCH) return std::nullopt;
    bool is_program = !libraryKind(mapping.path);  // unknown, so hardly CUDA
    std::string words = fmt::format("cannot be read: {}", std::strerror(why));
    if (is_program)
      library.problems.push_back(words);
    else
      noteUnwatchedLibrary(words, figuresOf(kind), library);
    return library;
  }
  std::string path = fmt::format("/proc/self/fd/{}", descriptor);
  Attached attached;
  attached.path = mapping.path;
  attached.users.insert(tgid);
  attached.probes = library_probes_.place(path, library);
  close(descriptor);
  if (library.functions > 0) attached_[mapping.file] = std::move(attached);
  return library;
}

bool isLoader(std::string_view path) { return path.substr(path.rfind('/') + 1).starts_with("ld-"); }

bool Probes::hasLoader(uint32_t tgid) {
  auto program = ElfFile::open(fmt::format("/proc/{}/exe", tgid));
  return !program.ok() || !program.value().interpreter().empty();
}

void Probes::watchLoaderOf(uint32_t tgid) {
  auto program = ElfFile::open(fmt::format("/proc/{}/exe", tgid));
  if (!program.ok()) return;
  std::string loader = program.value().interpreter();
  if (!loader.empty())
    (void)watchLoader(fmt::format("/proc/{}/root{}", tgid, loader));
  else if (isLoader(programOf(tgid)))
    (void)watchLoader(fmt::format("/proc/{}/exe", tgid));
}

bool Probes::runsLoader(uint32_t tgid) const {
  FileId id;
  return sameFile(fmt::format("/proc/{}/exe", tgid), id) && loaders_.contains(id);
}

base::Status Probes::watchLoader(const std::string& path) {
  FileId id;
  if (!sameFile(path, id)) return unreadable(path + ": not there");
  if (loaders_.contains(id)) return base::okStatus();
  TG_ASSIGN_OR_RETURN(ElfFile file, ElfFile::open(path));
  auto function = file.addressOf("_dl_debug_state");
  auto debug = file.addressOf("_r_debug");
  if (!function || !debug) return unreadable(path + ": no _dl_debug_state in this dynamic loader");
  auto offset = file.offsetOfAddress(*function);
  if (!offset) return unreadable(path + ": damaged");
  int link =
      programs_.attachMany("libraries_changed", path, {*offset}, {*debug - *function}, false);
  if (link < 0) return unreadable(fmt::format("{}: {}", path, std::strerror(-link)));
  loader_links_.push_back(link);
  loaders_.insert(id);
  return base::okStatus();
}

}  // namespace tidegauge::record
