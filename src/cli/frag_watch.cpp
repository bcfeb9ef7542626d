#include "cli/frag_watch.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>
#include <tuple>

#include "base/text_layout.h"
#include "cli/output.h"

namespace tidegauge::cli {
namespace {

volatile std::sig_atomic_t stopped = 0;

void stop(int) { stopped = 1; }

struct Stamp {
  dev_t device = 0;
  ino_t inode = 0;
  off_t bytes = 0;
  int64_t seconds = 0;
  int64_t nanoseconds = 0;
  auto tied() const { return std::tie(device, inode, bytes, seconds, nanoseconds); }
  bool operator==(const Stamp& other) const { return tied() == other.tied(); }
};

std::optional<Stamp> stampOf(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return std::nullopt;
  return Stamp{found.st_dev, found.st_ino, found.st_size, found.st_mtim.tv_sec,
               found.st_mtim.tv_nsec};
}

// Sleeps in short naps, so that Ctrl-C ends it at once.
void sleepFor(double seconds) {
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (stopped == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

int watchFile(const WatchOptions& options, const std::function<int()>& read) {
  struct sigaction action {};
  action.sa_handler = stop;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::optional<Stamp> told;  // the last one that was read
  std::optional<Stamp> seen;  // at the last look
  bool missing_told = false;
  size_t calls = 0;
  int exit_code = 0;
  while (stopped == 0) {
    std::optional<Stamp> now = stampOf(options.path);
    if (!now) {
      if (!missing_told) {
        complain(base::printable(
            fmt::format("tidegauge: {}: there is no such file yet; waiting", options.path)));
      }
      missing_told = true;
    } else if (now != told && now == seen) {  // it changed, and has stood still since
      told = now;
      missing_told = false;
      exit_code = read();
      if (exit_code != 3 && ++calls == options.count) return exit_code;
      continue;  // it may have changed while it was read
    }
    seen = now;
    sleepFor(options.interval_s);
  }
  return exit_code;
}

}  // namespace tidegauge::cli
