#include "wss/pte/make_cold.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace tidegauge::wss {
namespace {

constexpr int kProcessMadvise = 440, kMadvCold = 20;  // newer than some headers
// Ranges in one call: the process may map and unmap between two calls.
constexpr size_t kRangesOfACall = 32;

// Number of ranges made cold before one that failed; 0 with errno: the first failed.
size_t coldRanges(int target, std::span<const AddressRange> ranges) {
  std::vector<iovec> call;
  for (const AddressRange& range : ranges)
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
    call.push_back({reinterpret_cast<void*>(range.begin), range.end - range.begin});
  long done = syscall(kProcessMadvise, target, call.data(), call.size(), kMadvCold, 0);
  size_t whole = 0;
  for (; whole < ranges.size() && done > 0; ++whole) {
    done -= static_cast<long>(ranges[whole].end - ranges[whole].begin);
    if (done < 0) break;
  }
  return whole;
}

// The error of a failed call: process_madvise needs Linux 5.10.
base::Error cannotSample(const Process& process, int error_number) {
  if (auto status = process.check(); !status.ok()) return std::move(status.error());
  if (process.thread() != process.pid())
    return {base::ErrorKind::kMissingFeature,
            fmt::format("process {} cannot be sampled: its first thread has ended", process.pid()),
            std::nullopt, "Use --sample exact"};
  bool may_not = error_number == EPERM || error_number == EACCES;
  bool is_thread = error_number == EINVAL || error_number == ENOENT;
  return {
      base::ErrorKind::kMissingFeature,
      fmt::format("process {} cannot be sampled: {}", process.pid(), std::strerror(error_number)),
      std::nullopt,
      may_not ? "Sampling needs CAP_SYS_NICE and CAP_SYS_PTRACE. Run as root, or use --sample exact"
      : is_thread ? "Give the PID of the first thread, or use --sample exact"
                  : "Sampling needs Linux 5.10. Otherwise use --sample exact"};
}

}  // namespace

base::Result<MadeCold> makeCold(const Process& process, std::span<const AddressRange> ranges,
                                Clock& clock) {
  int target = process.descriptor();
  if (target < 0) return cannotSample(process, errno);
  MadeCold made;
  while (!ranges.empty()) {
    int64_t began_ns = clock.now_ns();
    errno = 0;
    size_t done = coldRanges(target, ranges.first(std::min(ranges.size(), kRangesOfACall)));
    int why_not = errno;
    made.longest_ns = std::max(made.longest_ns, clock.now_ns() - began_ns);
    ranges = ranges.subspan(done);
    if (done > 0) continue;  // a later range that failed is the first of the next call
    // Ranges that were unmapped meanwhile do not matter: they will not be read.
    if (why_not != EINVAL && why_not != ENOMEM) return cannotSample(process, why_not);
    if (why_not == EINVAL) made.locked.push_back(ranges.front());
    ranges = ranges.subspan(1);
  }
  return made;
}

}  // namespace tidegauge::wss
