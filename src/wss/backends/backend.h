// Backend: one way to learn which pages of a process were touched.
//
//   clear() ──── the process runs ────► read()
//      marks all as untouched             sums per mapping, touched since
//
// Neither is a moment: both walk through the address space from its beginning to its end, and each
// page's own window lies between when they came by (window.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wss/pages/frames.h"
#include "wss/pages/mappings.h"
#include "wss/pages/marks.h"
#include "wss/pages/page_bits.h"
#include "wss/process/process.h"
#include "wss/window.h"

namespace tidegauge::wss {

// What a measurement asks of the machine and of the process.
struct Cost {
  int64_t cpu_ns = 0;    // of the one who measures
  int64_t stall_ns = 0;  // how long at the most the process's mmap, munmap and brk had to wait
};

struct Clearing {
  Pass pass;
  Cost cost;
};

struct Reading {
  Pass pass;
  Cost cost;
  std::vector<MappingUse> uses;  // in the order of addresses
  bool in_order = true;          // both passes came by them so; else each has the window of all
  // Of a sample: what was touched is so much more or less, with 95 %; how much is there, from
  // elsewhere.
  std::optional<double> error_bytes = std::nullopt;
  std::optional<uint64_t> rss_bytes = std::nullopt;
  // Of what was touched, so much could not be cleared, and may not have been: in error_bytes, too.
  uint64_t uncleared_bytes = 0;
  uint64_t unmapped_bytes = 0;  // of marks where nothing is mapped
  uint64_t unread_bytes = 0;    // of page tables that could not be read: in no figure
  std::vector<Frame> frames =
      {};  // if they are kept: every page there, mapping by mapping as in `uses`
  std::vector<PageBits> pages = {};  // if they are kept: in the order of addresses, each table once
  // Of a kernel that watches by itself, by regions: the window of all, whenever it was asked. How
  // wrong what was touched may be is not known then.
  std::optional<int64_t> watched_ns = std::nullopt;
};

// What a back-end can do, and what its figures are of.
struct BackendTraits {
  // It fills pss, shared and locked. If not, what it reports is this process's alone.
  bool knows_sharing = true;
  bool tells_writes = false;  // `referenced` is what was written, and not also what was read
  bool reads_pages = false;   // PageDetail has an effect
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
  // What stands beside its figures: "clear_refs, flush of the TLB, smaps".
  virtual std::string how() const = 0;
  // What its figures leave out or take in on this machine; empty: nothing.
  virtual std::vector<std::string> limits() const = 0;
  // What a window will cost with that memory, in that number of mappings; not set: it is not known
  // beforehand.
  virtual std::optional<Cost> predicted(const Resident& /*resident*/, size_t /*mappings*/) const {
    return std::nullopt;
  }
  virtual base::Result<Clearing> clear(const Process& process, Clock& clock) = 0;
  virtual base::Result<Reading> read(const Process& process, Clock& clock) = 0;

 private:
  BackendTraits traits_;
  PageDetail detail_;
};

}  // namespace tidegauge::wss
