#include "record/times/times_area.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "record/process/capabilities.h"
#include "record/process/errors.h"
#include "record/process/memory_files.h"

// The library, as bytes (cmake/injection.cmake).
extern "C" const unsigned char tidegauge_times_library[];
extern "C" const unsigned char tidegauge_times_library_end[];

namespace tidegauge::record {
namespace {

// close_range(), which glibc has since 2.34 and Linux since 5.9.
void closeRange(unsigned first, unsigned last) {
  if (syscall(SYS_close_range, first, last, 0) == 0) return;
  auto most = static_cast<unsigned>(std::max(sysconf(_SC_OPEN_MAX), 3L));
  for (unsigned one = first; one <= last && one < most; ++one) close(static_cast<int>(one));
}

// In the new process: nothing but the two files and the line stays open.
[[noreturn]] void holdOpen(int library, int records, int line, const std::optional<Caller>& user) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2})
    ::signal(signal, SIG_IGN);  // signals from the keyboard reach the whole group
  prctl(PR_SET_NAME, "tidegauge-holds");
  std::array<int, 3> kept{library, records, line};
  std::sort(kept.begin(), kept.end());
  unsigned from = 3;
  for (int descriptor : kept) {
    auto at = static_cast<unsigned>(descriptor);
    if (from < at) closeRange(from, at - 1);
    from = at + 1;
  }
  closeRange(from, ~0U);
  bool is_ready = keepCapabilities(0, user).ok();
  // Without it, programs of the same user may not open these files.
  (void)prctl(PR_SET_DUMPABLE, 1);
  char byte = is_ready ? 1 : 0;
  (void)!write(line, &byte, 1);
  while (read(line, &byte, 1) < 0 && errno == EINTR) continue;
  _exit(0);
}

}  // namespace

bool TimesArea::hold(const std::optional<Caller>& user) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  holder_ = fork();
  if (holder_ == 0) holdOpen(library_, records_, ends[0], user);
  close(ends[0]);
  line_ = ends[1];
  char byte = 0;
  return holder_ > 0 && read(line_, &byte, 1) == 1 && byte == 1;
}

base::Result<TimesArea> TimesArea::make(const std::optional<Caller>& user, uint64_t ring_bytes) {
  TimesArea area;
  area.chunks_ = static_cast<uint32_t>(
      std::clamp<uint64_t>(ring_bytes / INJECTION_CHUNK_BYTES, 1, INJECTION_MOST_CHUNKS));
  area.bytes_ = sizeof(injection_area) + uint64_t{area.chunks_} * INJECTION_CHUNK_BYTES;
  area.library_ = libraryInMemory("tidegauge-device-times",
                                  {tidegauge_times_library, tidegauge_times_library_end});
  area.records_ = sharedMemory("tidegauge-times", area.bytes_);
  void* mapped = MAP_FAILED;
  if (area.library_ >= 0 && area.records_ >= 0)
    mapped = mmap(nullptr, area.bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, area.records_, 0);
  if (mapped == MAP_FAILED)
    return unreadable(fmt::format("no memory to share with programs: {}", std::strerror(errno)));
  area.area_ = static_cast<injection_area*>(mapped);
  area->head.magic = INJECTION_MAGIC;
  area->head.chunks = area.chunks_;
  area->head.next_image = 1;
  if (user && fchown(area.records_, user->uid, user->gid) != 0)
    return unreadable(
        fmt::format("memory cannot be given to {}: {}", user->name, std::strerror(errno)));
  if (user) (void)fchown(area.library_, user->uid, user->gid);
  if (!area.hold(user)) return unreadable("no process to share memory with programs");
  return area;
}

TimesArea::TimesArea(TimesArea&& other) noexcept
    : library_(std::exchange(other.library_, -1)),
      records_(std::exchange(other.records_, -1)),
      line_(std::exchange(other.line_, -1)),
      holder_(std::exchange(other.holder_, -1)),
      area_(std::exchange(other.area_, nullptr)),
      bytes_(other.bytes_),
      chunks_(other.chunks_) {}

TimesArea::~TimesArea() {
  if (area_ != nullptr) munmap(area_, bytes_);
  if (line_ >= 0) close(line_);
  if (holder_ > 0) waitpid(holder_, nullptr, 0);
  if (library_ >= 0) close(library_);
  if (records_ >= 0) close(records_);
}

std::vector<std::string> TimesArea::environment() const {
  return {fmt::format("{}=/proc/{}/fd/{}", kInjectionVariable, holder_, library_),
          fmt::format("TIDEGAUGE_DEVICE_TIMES=/proc/{}/fd/{}", holder_, records_)};
}

}  // namespace tidegauge::record
