#include "wss/process/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <utility>

#include "wss/process/kernel_file.h"
#include "wss/process/proc_lack.h"

namespace tidegauge::wss {
namespace {

constexpr int kPidfdOpen = 434;  // newer than some headers
constexpr size_t kMaxStat = 4096;
constexpr size_t kMaxSmapsText = size_t{4} << 30;  // smaps of 60,000 mappings has 80 MB

// "4096 1024 256 …", in pages; zeros for a process without memory.
Resident residentOf(const std::string& statm) {
  std::array<uint64_t, 3> pages{};
  const char *at = statm.data(), *end = at + statm.size();
  for (uint64_t& some : pages) {
    auto [rest, bad] = std::from_chars(at, end, some);
    if (bad != std::errc()) return {};
    at = rest == end ? end : rest + 1;
  }
  auto [all, resident, shared] = pages;
  auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return {resident * page, std::min(resident, shared) * page};
}

// Of "4711 (na)me (x) S 1 …" the numbers that stand `skipped` words after the state.
std::optional<uint64_t> numberIn(std::string_view stat, size_t skipped) {
  size_t at = stat.rfind(')');
  if (at == std::string_view::npos) return std::nullopt;
  for (size_t i = 0; i < skipped + 2; ++i) {
    at = stat.find(' ', at + 1);
    if (at == std::string_view::npos) return std::nullopt;
  }
  uint64_t number = 0;
  const char* end = stat.data() + stat.size();
  if (std::from_chars(stat.data() + at + 1, end, number).ec != std::errc()) return std::nullopt;
  return number;
}

template <class Number>
std::optional<Number> since(std::optional<Number> now, std::optional<Number> before) {
  if (!now || !before) return std::nullopt;
  return *now > *before ? *now - *before : 0;
}

bool hasText(int file) {
  char first = 0;
  return pread(file, &first, 1, 0) != 0;
}

}  // namespace

std::string readAll(int file, size_t most, int& error_number, size_t about) {
  // Most are small: a large buffer would cost more, in pages that the kernel must fill with zeros.
  std::array<char, size_t{8} << 10> small;
  std::unique_ptr<char[]> large;
  constexpr size_t kLarge = size_t{256} << 10;
  std::string text;
  text.reserve(about);
  char* part = small.data();
  size_t part_bytes = small.size();
  error_number = 0;
  while (text.size() < most) {
    ssize_t got = pread(file, part, std::min(part_bytes, most - text.size()),
                        static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error_number = errno;
    if (got <= 0) break;
    text.append(part, static_cast<size_t>(got));
    if (text.size() < small.size() || large != nullptr) continue;
    large = std::make_unique_for_overwrite<char[]>(kLarge);
    part = large.get();
    part_bytes = kLarge;
  }
  return text;
}

base::Result<Process> Process::open(pid_t pid, const std::string& proc) {
  std::string path = fmt::format("{}/{}", proc, pid);
  Process process(pid, ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), path + "/task");
  if (process.folder_ < 0) {
    int error_number = errno;
    if (auto why = whyNotInProc(pid, proc)) return std::move(*why);
    if (error_number == ENOENT || error_number == ESRCH)
      return unreadable(
          fmt::format("there is no process {}", pid),
          "`ps -e` lists the processes. A process in a container has another PID there");
    return unreadable(fmt::format("{} cannot be opened: {}", path, std::strerror(error_number)));
  }
  // One memory has one number: two thread numbers would hide that the same memory is measured
  // twice.
  if (pid_t first = process.firstThread(); first != pid && first > 0) return open(first, proc);
  process.name_ = process.readName();
  char state = process.state();
  if (state == 0 || state == 'X') return unreadable(fmt::format("process {} has just ended", pid));
  if (state == 'Z' && !process.takeAnotherThread())
    return unreadable(fmt::format("process {} ({}) has ended (a zombie)", pid, process.name_));
  process.memory_ = openat(process.folder_, "maps", O_RDONLY | O_CLOEXEC);
  if (process.memory_ < 0) return process.whyNothing("maps", errno);
  char first = 0;
  ssize_t got = pread(process.memory_, &first, 1, 0);
  if (got < 0) return process.whyNothing("maps", errno);
  if (got == 0)
    return unreadable(fmt::format(
        "process {} ({}) is a kernel thread, which has no memory of its own", pid, process.name_));
  return process;
}

Process::Process(Process&& other) noexcept
    : pid_(other.pid_),
      tasks_(std::move(other.tasks_)),
      thread_(other.thread_),
      folder_(std::exchange(other.folder_, -1)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      memory_(std::exchange(other.memory_, -1)),
      longest_text_(other.longest_text_),
      name_(std::move(other.name_)) {}

Process::~Process() {
  for (int file : {folder_, descriptor_, memory_})
    if (file >= 0) close(file);
}

std::vector<pid_t> Process::threads() const {
  std::vector<pid_t> threads;
  std::error_code failed;
  for (std::filesystem::directory_iterator it(tasks_, failed), end; !failed && it != end;
       it.increment(failed)) {
    std::string name = it->path().filename();
    pid_t thread = 0;
    auto [rest, bad] = std::from_chars(name.data(), name.data() + name.size(), thread);
    if (bad == std::errc() && thread > 0) threads.push_back(thread);
  }
  return threads;
}

bool Process::takeAnotherThread() const {
  for (pid_t thread : threads()) {
    if (thread == thread_) continue;
    int folder =
        ::open(fmt::format("{}/{}", tasks_, thread).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) continue;
    int maps = openat(folder, "maps", O_RDONLY | O_CLOEXEC);
    bool has_memory = maps >= 0 ? hasText(maps) : errno == EACCES || errno == EPERM;
    if (maps >= 0) close(maps);
    if (!has_memory) {
      close(folder);
      continue;
    }
    close(std::exchange(folder_, folder));
    thread_ = thread;
    return true;
  }
  return false;
}

std::string Process::readName() const {
  std::string text = smallFile("comm");
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

// "… Tgid:\t4711 …"; the name before it has its line breaks escaped.
pid_t Process::firstThread() const {
  std::string text = smallFile("status");
  size_t at = text.find("\nTgid:\t");
  int first = 0;
  return at != std::string::npos && std::sscanf(text.c_str() + at, " Tgid: %d", &first) == 1 ? first
                                                                                             : pid_;
}

// "4711 (na)me (x) S 1 …": the name ends at the last parenthesis.
char Process::state() const {
  errno = 0;
  std::string text = smallFile("stat");
  // that shows nothing about the process
  if (text.empty() && (errno == EMFILE || errno == ENFILE)) return '?';
  size_t end = text.rfind(')');
  return end == std::string::npos || end + 2 >= text.size() ? '\0' : text[end + 2];
}

size_t Process::mappings() const {
  size_t lines = 0;
  auto count = [&](std::string_view part) {
    lines += static_cast<size_t>(std::ranges::count(part, '\n'));
  };
  return readMaps(count).ok() ? lines : 0;
}

base::Status Process::claim() const {
  if (memory_ < 0 || flock(memory_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return base::okStatus();
  return base::Error{
      base::ErrorKind::kMissingFeature,
      fmt::format("another tidegauge measures process {} ({})", pid_, name_), std::nullopt,
      "Wait until it has ended. Each would clear the accessed bits that the other needs, so both "
      "would report too little"};
}

int Process::descriptor() const {
  if (descriptor_ >= 0) return descriptor_;
  int of_the_number = static_cast<int>(syscall(kPidfdOpen, pid_, 0));
  if (of_the_number < 0) return -1;
  // The number may be reused: it is this process if that still has its memory.
  if (hasText(memory_)) return descriptor_ = of_the_number;
  close(of_the_number);
  errno = ESRCH;
  return -1;
}

bool Process::isStopped() const {
  char now = state();
  return now == 'T' || now == 't';
}

base::Result<int> Process::openFile(const char* name, int flags) const {
  int file = openat(folder_, name, flags | O_CLOEXEC);
  if (file < 0) return whyNothing(name, errno);
  return file;
}

base::Result<std::string> Process::readFile(const char* name) const {
  TG_ASSIGN_OR_RETURN(int file, openFile(name, O_RDONLY));
  auto text = textOf(file, name);
  close(file);
  return text;
}

base::Status Process::readMaps(const std::function<void(std::string_view)>& visit) const {
  // For 60,000 mappings it has 3 MB, more than a core's caches, and filling new pages with it costs
  // as much as parsing it.
  constexpr size_t kPart = size_t{64} << 10;
  std::string part(kPart, '\0');
  size_t kept = 0, all = 0;  // of an incomplete line
  while (all < kMaxSmapsText) {
    if (kept == part.size()) part.resize(2 * part.size());
    ssize_t got = pread(memory_, part.data() + kept, part.size() - kept, static_cast<off_t>(all));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return whyNothing("maps", errno);
    if (got == 0) break;
    all += static_cast<size_t>(got);
    std::string_view text(part.data(), kept + static_cast<size_t>(got));
    size_t whole = text.rfind('\n') + 1;  // 0: none is complete
    if (whole > 0) visit(text.substr(0, whole));
    kept = text.size() - whole;
    std::memmove(part.data(), text.data() + whole, kept);
  }
  if (all == 0) return whyNothing("maps", 0);
  if (kept > 0) visit(std::string_view(part.data(), kept));
  return base::okStatus();
}

base::Result<std::string> Process::textOf(int file, const char* name) const {
  int error_number = 0;
  // As long as the longest so far: for 60,000 mappings it would otherwise grow, and be copied, six
  // times.
  std::string text = readAll(file, kMaxSmapsText, error_number, longest_text_);
  if (error_number != 0 || text.empty()) return whyNothing(name, error_number);
  longest_text_ = std::max(longest_text_, text.size() + text.size() / 16);
  return text;
}

// A small file about the process; empty if it cannot be read.
std::string Process::smallFile(const char* name) const {
  int file = openat(folder_, name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  int unused = 0;
  std::string text = readAll(file, kMaxStat, unused);
  close(file);
  return text;
}

base::Error Process::whyNothing(const char* name, int error_number) const {
  if (auto status = check(); !status.ok()) return std::move(status.error());
  if (error_number == EACCES || error_number == EPERM)
    return {
        base::ErrorKind::kMissingFeature,
        fmt::format("this user may not read process {} ({}): /proc/{}/{}: {}", pid_, name_, pid_,
                    name, std::strerror(error_number)),
        std::nullopt,
        "Run as the user of the process, or as root with CAP_SYS_PTRACE. A process that dropped "
        "rights (setuid) needs root"};
  if (error_number == ENOENT)
    return {base::ErrorKind::kMissingFeature,
            fmt::format("this kernel has no /proc/{}/{}", pid_, name), std::nullopt,
            "The kernel was built without CONFIG_PROC_PAGE_MONITOR"};
  return unreadable(fmt::format("/proc/{}/{} cannot be read: {}", pid_, name,
                                error_number == 0 ? "it is empty" : std::strerror(error_number)));
}

base::Error Process::ended() const {
  return unreadable(fmt::format("process {} ({}) ended during the measurement", pid_, name_));
}

Work operator-(const Work& now, const Work& before) {
  return {since(now.ran_ns, before.ran_ns), since(now.minor_faults, before.minor_faults),
          since(now.major_faults, before.major_faults)};
}

Work Process::work() const {
  Work work;
  clockid_t clock = 0;
  timespec time{};
  if (clock_getcpuclockid(pid_, &clock) == 0 && clock_gettime(clock, &time) == 0)
    work.ran_ns = int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  // "4711 (name) state ppid pgrp session tty_nr tpgid flags minflt cminflt majflt …"
  std::string stat = smallFile("stat");
  work.minor_faults = numberIn(stat, 6);
  work.major_faults = numberIn(stat, 8);
  return work;
}

Resident Process::resident() const { return residentOf(smallFile("statm")); }

base::Status Process::check() const {
  auto resident = checkedResident();
  if (!resident.ok()) return std::move(resident.error());
  return base::okStatus();
}

base::Result<Resident> Process::checkedResident() const {
  if (memory_ < 0) {  // could not be opened: only the existence of the process can be checked
    char now = state();
    if (now == 0 || now == 'X' || now == 'Z') return ended();
    return resident();
  }
  bool is_there = hasText(memory_);
  // An ending thread cannot be used for reading: it drops the memory some time before it counts as
  // ended.
  errno = 0;
  std::string statm = smallFile("statm");
  bool has_none = statm.empty() ? errno == ENOENT || errno == ESRCH : statm.starts_with("0 ");
  if (is_there) {
    if (!has_none) return residentOf(statm);
    // A process continues without its first thread, or another one that was used. Its memory still
    // exists then, so the number was not reused.
    if (!takeAnotherThread()) return ended();
    return resident();
  }
  // Its memory is gone: it has another, or is about to end.
  if (has_none) return ended();
  return unreadable(
      fmt::format("process {} ({}) started another program (exec) during the measurement", pid_,
                  name_),
      "Its earlier accesses are lost. Measure again");
}

}  // namespace tidegauge::wss
