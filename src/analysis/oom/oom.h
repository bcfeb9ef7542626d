// Out of memory: the request, the driver's free memory, and the free memory inside PyTorch's
// segments.
//
//   ceiling   = reserved + free in the driver      the most that this process could have had
//   over_by   = request − free in the driver       the missing bytes, given what was reserved
//   free      = reserved − active                  free, but inside segments
//
// The reserved bytes are those at the event, after the allocator released what it could. Without an
// allocator nothing is released for a request: what the program frees before is its own decision.
//
// A program that requests less after each refusal makes one series of them:
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
  // The first event of the failing request: its retry flushes the cache before it gives up. `step`
  // if there was none.
  Step first_step = 0;
  // Absent: the file contains no plausible value.
  std::optional<uint64_t> requested_bytes;  // rounded, as recorded
  std::optional<uint64_t> device_free_bytes;
  // The driver's last figure before the next event, if there is no allocator and the event itself
  // has none. Then device_free_bytes is what must have been left of it.
  std::optional<DriverFree> driver_free;
  Totals totals;                  // at the event
  std::optional<FreeSums> free;   // inside segments; absent if not computed
  uint64_t given_back_bytes = 0;  // segment_free and segment_unmap from first_step on
  uint64_t given_back_segments = 0;
  bool has_unmapped = false;  // of these, some are pages of expandable segments
  uint64_t mapped_bytes = 0;  // pages mapped from first_step on, in vain
  uint64_t completed = 0;     // frees whose completion it waited for
  // If one thread repeated the same request: how often it was refused, the last time at `step`, and
  // when first, in ns since the epoch. Absent: not recorded (a snapshot).
  std::optional<uint64_t> refusals;
  std::optional<int64_t> first_refusal_ns;
  uint64_t series = 1;  // counted from 1
  // The same call site requested the same again, with no allocation since the event before: a
  // program that catches the error and tries again.
  bool is_retry = false;
  StackId stack;                 // of the request
  std::vector<uint32_t> phases;  // annotations around it, outermost first

  std::optional<uint64_t> ceilingBytes() const {
    if (!device_free_bytes) return std::nullopt;
    return totals.reserved_bytes + *device_free_bytes;
  }
  // Requests that this event stands for.
  uint64_t requests() const { return refusals.value_or(1); }
  bool known() const { return requested_bytes && device_free_bytes; }
  // 0 if the driver had enough (so a limit of the process refused), or if either is unknown.
  uint64_t overBytes() const {
    return known() && *requested_bytes > *device_free_bytes ? *requested_bytes - *device_free_bytes
                                                            : 0;
  }
};

// Whether `a` is at least as bad: more bytes missing; on a tie, and if the free bytes are unknown,
// an equal or larger request.
bool isAsBad(const OomReport& a, const OomReport& b);
// The event to report: the worst; on a tie the last, but of a request and its retries the first,
// since only what comes before the first can help. 0 if there is none.
size_t worstOf(const std::vector<OomReport>& ooms);

// Refusals at one call site, each for less than the one before, with no successful allocation in
// between.
struct RefusalSeries {
  size_t first = 0, last = 0;  // of the reports
  uint64_t requests = 0;
};
RefusalSeries seriesAround(const std::vector<OomReport>& ooms, size_t index);
// Sum over all events.
uint64_t refusedRequests(const std::vector<OomReport>& ooms);

// How many events a report examines in detail.
inline constexpr size_t kMaxOomLayouts = 100;

// The device's out-of-memory events in order. Layout and phases are computed for at most `detailed`
// of them, those with the most missing bytes: O(live + pieces) each.
std::vector<OomReport> oomsOf(const AnalysedTrace& analysed, const DeviceAnalysis& device,
                              size_t detailed = SIZE_MAX);
// Computes them for one more.
void addDetails(const AnalysedTrace& analysed, const DeviceAnalysis& device, OomReport& report);

}  // namespace tidegauge::analysis
