// Out of memory: what was asked, what the driver had left, what lay free inside our own segments.
//
//   ceiling   = reserved + free in the driver      what this process could ever have had
//   over_by   = request − free in the driver       how much was missing, given what was reserved
//   free      = reserved − active                  free, but inside segments
//
// The reserved bytes are those at the event: the allocator had already given back what it could.
// Without an allocator nobody gives back for a request: what the program frees before is its own.
//
// A program that asks for less after each refusal makes one series of them:
//
//   8 GiB ✗  4 GiB ✗  2 GiB ✗  1 GiB fits │ 6 GiB ✗       call site A
//   series 1                              │ series 2
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/layout/free_sums.h"
#include "analysis/oom/driver_free.h"
#include "analysis/trace/analysed_trace.h"

namespace tidegauge::analysis {

struct OomReport {
  Step step = 0;
  // The failing request's own first event: its retry flushes the cache before it gives up. `step`
  // if it did nothing.
  Step first_step = 0;
  // Absent: the file names none that can be.
  std::optional<uint64_t> requested_bytes;  // rounded, as recorded
  std::optional<uint64_t> device_free_bytes;
  // What the driver had last said before the next event, where no allocator is and the event itself
  // does not tell: then device_free_bytes is what must have been left of it.
  std::optional<DriverFree> told;
  Totals totals;                  // at the event
  std::optional<FreeSums> free;   // inside segments; absent if it was not looked at
  uint64_t given_back_bytes = 0;  // segment_free and segment_unmap from first_step on
  uint64_t given_back_segments = 0;
  uint64_t mapped_bytes = 0;  // pages mapped from first_step on, in vain
  uint64_t completed = 0;     // frees that it waited for
  // One thread asked for the same again and again: how often it was refused, the last time at
  // `step`, and when first, in ns since the epoch. Absent: the file does not say (a snapshot).
  std::optional<uint64_t> refusals;
  std::optional<int64_t> first_refusal_ns;
  uint64_t series = 1;           // counted from 1
  StackId stack;                 // of the request
  std::vector<uint32_t> phases;  // annotations around it, outermost first

  std::optional<uint64_t> ceilingBytes() const {
    if (!device_free_bytes) return std::nullopt;
    return totals.reserved_bytes + *device_free_bytes;
  }
  // Requests that it stands for.
  uint64_t requests() const { return refusals.value_or(1); }
  bool known() const { return requested_bytes && device_free_bytes; }
  // 0 if the driver had enough (a limit of the process, then), or if one of the two is unknown.
  uint64_t overBytes() const {
    return known() && *requested_bytes > *device_free_bytes ? *requested_bytes - *device_free_bytes
                                                            : 0;
  }
};

// Whether `a` is no better than `b`: short by more; among equals, as where nobody knows what was
// free, it asked for as much or more.
bool isAsBad(const OomReport& a, const OomReport& b);
// The one that a report is about: the worst, of equals the last. 0 if there is none.
size_t worstOf(const std::vector<OomReport>& ooms);

// Refusals of one call site, each for less than the one before, with no memory given in between.
struct RefusalSeries {
  size_t first = 0, last = 0;  // of the reports
  uint64_t requests = 0;
};
RefusalSeries seriesAround(const std::vector<OomReport>& ooms, size_t index);
// Of all of them.
uint64_t refusedRequests(const std::vector<OomReport>& ooms);

// How many of them the report looks at in detail.
inline constexpr size_t kMaxOomLayouts = 100;

// The device's out-of-memory events in order. The layout and the phases of those that were short by
// most are looked at: O(live + pieces) each, for at most `detailed` of them.
std::vector<OomReport> oomsOf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                              size_t detailed = SIZE_MAX);

}  // namespace tidegauge::analysis
