#include "wss/backends/idle_backend.h"

#include <unistd.h>

#include <cerrno>

#include "wss/backends/clear_refs.h"
#include "wss/pages/idle_bitmap.h"
#include "wss/pages/own_page.h"
#include "wss/pages/page_frames.h"
#include "wss/pages/page_sums.h"
#include "wss/pages/read_maps.h"

namespace tidegauge::wss {
namespace {

constexpr const char* kBitmap = "/sys/kernel/mm/page_idle/bitmap";
constexpr const char* kFlags = "/proc/kpageflags";

}  // namespace

base::Status IdleBackend::check(const std::string& root) {
  for (const char* file : {kBitmap, kFlags}) {
    if (access((root + file).c_str(), file == kBitmap ? R_OK | W_OK : R_OK) == 0) continue;
    base::Error error{
        base::ErrorKind::kMissingFeature, std::string("there is no ") + file, std::nullopt,
        "It needs a kernel built with CONFIG_IDLE_PAGE_TRACKING, which Debian's kernels lack. Use "
        "--backend pte or smaps"};
    if (errno == EACCES || errno == EPERM)
      error.what = std::string(file) + " is for root alone", error.hint = "Run as root";
    return error;
  }
  return base::okStatus();
}

std::string IdleBackend::how() const {
  return "the kernel's idle flag of each page" + wordsOf(flush_);
}

std::vector<std::string> IdleBackend::limits() const {
  std::vector<std::string> limits = limitsOfFlush(flush_);
  limits.push_back(
      "a page counts as touched by whichever process that maps it; and "
      "pages that the kernel does not report: the few that are on none "
      "of its lists (LRU) now, and the last of memory, at most 63");
  return limits;
}

base::Result<Clearing> IdleBackend::clear(const Process& process, Clock& clock) {
  Clearing done{.sees_guests = true};
  int64_t cpu_ns = clock.cpu_ns();
  drainLists();
  TG_ASSIGN_OR_RETURN(std::vector<MappingUse> uses, readMaps(process));
  TG_ASSIGN_OR_RETURN(std::vector<PageFrame> frames, readFrames(process, uses, root_ + kFlags));
  IdleBitmap bitmap(root_ + kBitmap);
  for (const PageFrame& frame : frames) bitmap.add(frame.first);
  done.pass.begin_ns = clock.now_ns();
  TG_RETURN_IF_ERROR(bitmap.mark());
  done.pass.end_ns = clock.now_ns();
  TG_ASSIGN_OR_RETURN(Clearing flushed, flushTlb(process, flush_, clock));
  add(done, flushed);
  TG_RETURN_IF_ERROR(process.check());
  done.cost.cpu_ns = clock.cpu_ns() - cpu_ns;
  return done;
}

base::Result<Reading> IdleBackend::read(const Process& process, Clock& clock) {
  Reading done;
  int64_t cpu_ns = clock.cpu_ns();
  TG_ASSIGN_OR_RETURN(done.uses, readMaps(process));
  TG_ASSIGN_OR_RETURN(std::vector<PageFrame> frames,
                      readFrames(process, done.uses, root_ + kFlags));
  IdleBitmap bitmap(root_ + kBitmap);
  for (const PageFrame& frame : frames) bitmap.add(frame.first);
  done.in_order = false;
  done.pass.begin_ns = clock.now_ns();
  TG_RETURN_IF_ERROR(bitmap.look());
  done.pass.end_ns = clock.now_ns();
  TG_RETURN_IF_ERROR(process.check());
  for (const PageFrame& frame : frames) {
    MappingSums& sums = done.uses[frame.use].sums;
    sums.rss += kPage;
    if (!bitmap.isIdle(frame.first)) sums.referenced += kPage;
    if (frame.is_large) sums.huge += kPage;
    if (frame.is_written) sums.dirty += kPage;
    if (detail().keeps_frames)
      done.frames.push_back(frameOf(frame.number, !bitmap.isIdle(frame.first)));
  }
  done.cost.cpu_ns = clock.cpu_ns() - cpu_ns;
  return done;
}

base::Status IdleBackend::clearOutside(Clock& clock) {
  return cache_ ? cache_->clear(clock) : base::okStatus();
}

base::Status IdleBackend::readOutside(std::span<const Process* const> processes, Clock& clock) {
  if (!cache_) return base::okStatus();
  auto use = cache_->read({processes.begin(), processes.end()}, clock);
  use_ = use.ok() ? std::move(use.value()) : CacheUse{.problem = use.error().what};
  return base::okStatus();  // the rows of the processes are whole
}

}  // namespace tidegauge::wss
