#include "wss/backends/switch_ring.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>

#include "wss/process/kernel_file.h"
#include "wss/window.h"

namespace tidegauge::wss {
namespace {

constexpr int kRefused = -1;  // takes the place of the processor's number
constexpr int kMaxProcessors = 8192;
constexpr int kPatience_ms = 1000;  // for one processor

bool moveTo(int processor) {
  std::array<unsigned long, kMaxProcessors / (8 * sizeof(unsigned long))> mask{};
  constexpr size_t kBits = 8 * sizeof(unsigned long);
  mask[static_cast<size_t>(processor) / kBits] |= 1UL << static_cast<size_t>(processor) % kBits;
  return syscall(SYS_sched_setaffinity, 0, sizeof(mask), mask.data()) == 0;
}

// One of the ring, after fork(): only system calls. It ends when the one before it has ended.
[[noreturn]] void runInRing(int from, int to) {
  int keep[2] = {std::min(from, to), std::max(from, to)};
  if (keep[0] > 0) syscall(SYS_close_range, 0, keep[0] - 1, 0);
  if (keep[1] - keep[0] > 1) syscall(SYS_close_range, keep[0] + 1, keep[1] - 1, 0);
  syscall(SYS_close_range, keep[1] + 1, ~0U, 0);
  prctl(PR_SET_NAME, "tidegauge-flush");
  sched_param lowest{.sched_priority = 1};
  (void)sched_setscheduler(0, SCHED_FIFO, &lowest);
  int processor = 0;
  while (recv(from, &processor, sizeof(processor), 0) == sizeof(processor)) {
    if (processor != kRefused && !moveTo(processor)) processor = kRefused;
    if (send(to, &processor, sizeof(processor), MSG_NOSIGNAL) != sizeof(processor)) break;
  }
  _exit(0);
}

}  // namespace

std::vector<int> processorsIn(std::string_view list) {
  std::vector<int> processors;
  while (!list.empty()) {
    std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(part.size() + 1, list.size()));
    int first = 0, last = 0;
    const char* end = part.data() + part.size();
    auto [rest, bad] = std::from_chars(part.data(), end, first);
    if (bad != std::errc()) continue;
    last = first;
    if (rest != end && *rest == '-') std::from_chars(rest + 1, end, last);
    for (int i = std::max(first, 0); i <= std::min(last, kMaxProcessors - 1); ++i)
      processors.push_back(i);
  }
  return processors;
}

bool SwitchRing::isSuited() {
#if defined(__x86_64__)
  auto text = readKernelFile("/proc/cpuinfo");
  return text.ok() && text.value().find(" invlpgb") == std::string::npos;
#else
  return false;
#endif
}

base::Result<SwitchRing> SwitchRing::start() {
  SwitchRing ring;
  auto failed = [](const char* what) {
    return base::Error{base::ErrorKind::kMissingFeature,
                       std::string(what) + " failed: " + std::strerror(errno), std::nullopt, ""};
  };
  int pair[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return failed("socketpair()");
  ring.in_ = pair[0];
  int from = pair[1];
  for (int i = 0; i < kProcesses; ++i) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
      close(from);
      return failed("socketpair()");
    }
    pid_t child = fork();
    if (child == 0) runInRing(from, pair[0]);
    close(from);
    close(pair[0]);
    from = pair[1];
    if (child < 0) {
      close(from);
      return failed("fork()");
    }
    ring.running_.push_back(child);
  }
  ring.out_ = from;
  return ring;
}

SwitchRing::SwitchRing(SwitchRing&& other) noexcept
    : in_(std::exchange(other.in_, -1)),
      out_(std::exchange(other.out_, -1)),
      running_(std::exchange(other.running_, {})) {}

SwitchRing::~SwitchRing() {
  if (in_ >= 0) close(in_);  // the first ends, then the next …
  if (out_ >= 0) close(out_);
  for (pid_t child : running_) waitpid(child, nullptr, 0);
}

bool SwitchRing::runOn(int processor) {
  if (send(in_, &processor, sizeof(processor), MSG_NOSIGNAL) != sizeof(processor)) return false;
  pollfd news{out_, POLLIN, 0};
  int came = 0, ready = 0;
  while ((ready = poll(&news, 1, kPatience_ms)) < 0 && errno == EINTR) {
  }
  return ready == 1 && recv(out_, &came, sizeof(came), 0) == sizeof(came) && came == processor;
}

int64_t SwitchRing::cpuTime_ns() const {
  int64_t sum_ns = 0;
  for (pid_t child : running_) {
    clockid_t clock = 0;
    if (clock_getcpuclockid(child, &clock) == 0) sum_ns += clockTime_ns(clock);
  }
  return sum_ns;
}

SwitchRing::Turn SwitchRing::turn() {
  Turn turn;
  auto online = readKernelFile("/sys/devices/system/cpu/online");
  if (!online.ok()) return turn;
  int64_t cpu_ns = cpuTime_ns();
  turn.is_complete = true;
  for (int processor : processorsIn(online.value())) {
    int64_t began_ns = clockTime_ns(CLOCK_MONOTONIC);
    turn.is_complete &= runOn(processor);
    turn.longest_ns = std::max(turn.longest_ns, clockTime_ns(CLOCK_MONOTONIC) - began_ns);
    if (!turn.is_complete) break;
  }
  turn.cpu_ns = cpuTime_ns() - cpu_ns;
  return turn;
}

}  // namespace tidegauge::wss
