// Backend: one way to find out which pages of a process were touched.
//
//   clear() ──── the process runs ────► read()
//      marks all as untouched             sums per mapping, touched since then
//
// Neither is instantaneous: both walk through the address space from its beginning to its end, so
// each page has its own window, between the two visits (window.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wss/cache/cgroup_cache.h"
#include "wss/pages/frames.h"
#include "wss/pages/mappings.h"
#include "wss/pages/marks.h"
#include "wss/pages/page_bits.h"
#include "wss/process/process.h"
#include "wss/window.h"

namespace tidegauge::wss {

// The cost of a measurement for the machine and for the process.
struct Cost {
  int64_t cpu_ns = 0;  // of the measuring process
  // upper bound of the time for which the process's mmap, munmap and brk had to wait
  int64_t stall_ns = 0;
  int64_t stopped_ns = 0;  // that the process stood still (exact_window.h)
};

struct Clearing {
  Pass pass = {};
  Cost cost = {};
  // What processors had cached was flushed. If not, some touches since then may be missing.
  bool is_flushed = true;
  // What a guest of KVM touches counts: the kernel asks KVM for it, or lets the guest fault again.
  bool sees_guests = false;
  // Another DAMON clears accessed bits meanwhile, which this back-end reads.
  bool is_sampled_by_others = false;
  int64_t ring_cpu_ns = 0;  // of a SwitchRing's processes, which no clock of this program counts
};

struct Reading {
  Pass pass;
  Cost cost;
  std::vector<MappingUse> uses;  // in the order of addresses
  // both passes visited them in this order; if not, each has the overall window
  bool in_order = true;
  // For a sample: half of the 95 % confidence interval of the touched bytes. The resident bytes
  // come from elsewhere.
  std::optional<double> error_bytes = std::nullopt;
  std::optional<uint64_t> rss_bytes = std::nullopt;
  // Bytes counted as touched that could not be cleared, so they may not have been touched. Included
  // in error_bytes.
  uint64_t uncleared_bytes = 0;
  uint64_t unmapped_bytes = 0;  // of marks without a mapping
  // Touched in the window, and reclaimed before it ended: in no other figure. Only of a back-end
  // that glances; a lower bound.
  uint64_t gone_bytes = 0;
  uint64_t unread_bytes = 0;  // of page tables that could not be read: not in any figure
  // If kept, or if memory is mapped more than once (repeats.h): every page there, mapping by
  // mapping as in `uses`.
  std::vector<Frame> frames = {};
  std::vector<PageBits> pages = {};  // if kept: in the order of addresses, each table once
  // For a kernel that watches on its own, by regions: the window of all, independent of the
  // requested one. The error of the touched bytes is unknown then.
  std::optional<int64_t> watched_ns = std::nullopt;
  // The process ran only in this window, of all its memory (exact_window.h).
  std::optional<Window> ran = std::nullopt;
  size_t stopped_threads = 0;  // that were stopped for it
};

// What a back-end can do, and what its figures are of.
struct BackendTraits {
  // It reports where pages lie (Reading::frames), if detail() asks for it.
  bool knows_frames = false;
  // It fills pss, shared and locked. If not, what it reports is this process's alone.
  bool knows_sharing = true;
  bool tells_writes = false;  // `referenced` is what was written, and not also what was read
  bool reads_pages = false;   // PageDetail has an effect
  bool glances = false;       // glance() has an effect
  // Whose memory it measures, if not that process's alone: "/shop/db". Empty: that process's.
  std::string cgroup{};
};

// What readings report beside their sums, of a back-end that reads pages.
struct PageDetail {
  bool keeps_pages = false;   // page by page: Reading::pages
  bool keeps_frames = false;  // where in memory each page lies: Reading::frames
  std::vector<Mark> marks{};  // as orderedMarks(): mappings are cut there
};

class Backend {
 public:
  explicit Backend(BackendTraits traits = {}) : traits_(std::move(traits)) {}
  virtual ~Backend() = default;

  const BackendTraits& traits() const { return traits_; }
  // Changes apply from the next reading on.
  PageDetail& detail() { return detail_; }
  const PageDetail& detail() const { return detail_; }

  virtual std::string_view name() const = 0;
  // The method, shown beside its figures: "clear_refs, flush of the TLB, smaps".
  virtual std::string how() const = 0;
  // What its figures omit or include wrongly on this machine; empty: nothing.
  virtual std::vector<std::string> limits() const = 0;
  // The expected cost of a window with this resident memory and number of mappings; absent:
  // unknown.
  virtual std::optional<Cost> predicted(const Resident& /*resident*/, size_t /*mappings*/) const {
    return std::nullopt;
  }
  virtual base::Result<Clearing> clear(const Process& process, Clock& clock) = 0;
  // Between the two: notes what is touched so far, since the kernel is reclaiming memory.
  virtual base::Status glance(const Process& /*process*/, Clock& /*clock*/) {
    return base::okStatus();
  }
  virtual base::Result<Reading> read(const Process& process, Clock& clock) = 0;

  // Once per window, for memory of no process: before the first process is cleared, and after the
  // last one was read.
  virtual base::Status clearOutside(Clock& /*clock*/) { return base::okStatus(); }
  virtual base::Status readOutside(std::span<const Process* const> /*processes*/,
                                   Clock& /*clock*/) {
    return base::okStatus();
  }
  // What readOutside() found; nullptr: nothing is measured there.
  virtual const CacheUse* outside() const { return nullptr; }

 private:
  BackendTraits traits_;
  PageDetail detail_;
};

}  // namespace tidegauge::wss
