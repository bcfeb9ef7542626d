#include "cli/commands/frag_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "base/text_layout.h"
#include "cli/file_kind.h"
#include "cli/options/output.h"
#include "readers/recording/file/growth.h"

namespace tidegauge::cli {
namespace {

using readers::recording::Stamp;
using Clock = std::chrono::steady_clock;

// For a recording that grows all the time: reading takes a tenth of the time.
constexpr double kWaitPerRead = 9;
// Without a lock on the file, a file unchanged for this time counts as complete.
constexpr double kPatience_s = 5;

volatile std::sig_atomic_t stopped = 0;

void stop(int) { stopped = 1; }

// Sleeps in short intervals, so that Ctrl-C ends it at once.
void sleepFor(double seconds) {
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (stopped == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

bool hasEnded(const std::string& path, Clock::time_point changed_at) {
  if (readers::recording::hasWriter(path)) return false;
  return Clock::now() - changed_at > std::chrono::duration<double>(kPatience_s);
}

}  // namespace

int watchFile(const WatchOptions& options, const std::function<FileRead()>& read) {
  struct sigaction action {};
  action.sa_handler = stop;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::optional<Stamp> last_read;  // of the last version that was read
  std::optional<Stamp> seen;       // at the last check
  Clock::time_point changed_at = Clock::now();
  bool missing_reported = false;
  size_t calls = 0;
  int exit_code = 0;
  while (stopped == 0) {
    Stamp now = readers::recording::stampOf(options.path);
    bool grows = kindOf(options.path) == FileKind::kRecording;
    if (now != seen) changed_at = Clock::now();
    if (!now.exists()) {
      if (!missing_reported) {
        complain(base::printable(fmt::format(
            "tidegauge: {}: the file does not exist yet. Waiting for it.", options.path)));
      }
      missing_reported = true;
    } else if (now != last_read && (grows || now == seen)) {  // a snapshot is unchanged since then
      last_read = now;
      seen = now;
      missing_reported = false;
      Clock::time_point begin = Clock::now();
      FileRead done = read();
      exit_code = done.exit_code;
      if (done.succeeded && ++calls == options.count) return exit_code;
      std::chrono::duration<double> took = Clock::now() - begin;
      if (grows) sleepFor(std::max(options.interval_s, kWaitPerRead * took.count()));
      continue;  // it may have changed while being read
    } else if (grows && now == last_read && hasEnded(options.path, changed_at)) {
      complain(
          base::printable(fmt::format("tidegauge: {}: the recording has ended.", options.path)));
      return exit_code;
    }
    seen = now;
    sleepFor(options.interval_s);
  }
  return exit_code;
}

}  // namespace tidegauge::cli
