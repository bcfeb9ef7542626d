// The four courses of a measurement, as in wss.pl:
//
//   single      clear ── d ── read
//   cumulative  clear ── d ── read ── d ── read ── d ── read …        touched memory accumulates
//   snapshots   clear ── d ── read ── pause ── clear ── d ── read …   each window alone
//   profile     clear ─ d ─ read ─ d ─ read ── 2d ── read ──── 4d …   windows d, 2d, 4d, 8d
//
// A profile clears once, so that each of its windows costs one read.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "wss/backends/backend.h"
#include "wss/measure/meanwhile.h"
#include "wss/measure/places.h"

namespace tidegauge::wss {

enum class Course : uint8_t { kSingle, kCumulative, kSnapshots, kProfile };

struct Plan {
  Course course = Course::kSingle;
  int64_t duration_ns = 0;                         // of one window
  int64_t pause_ns = 0;                            // between snapshots
  std::optional<int64_t> total_ns = std::nullopt;  // ends after the row in which this has passed
  bool as_wss_pl = false;  // wss.pl checks that only before the pause between snapshots
  int steps = 0;           // of a profile
};

// One row of the result.
struct Row {
  int64_t slept_ns = 0;  // since it was cleared; for a snapshot its own
  int64_t taken_ns = 0;  // from the beginning of the clearing to the end of the reading
  int64_t estimate_ns =
      0;          // as in wss.pl: from the middle of the clearing to the middle of the reading
  Window window;  // the actual one: mean over the memory, and its extremes
  MappingSums sums;
  std::optional<double> error_bytes = std::nullopt;  // of sums.referenced, for a sample: 95 %
  uint64_t uncleared_bytes = 0;                      // Reading::uncleared_bytes
  uint64_t unread_bytes = 0;                         // Reading::unread_bytes
  uint64_t unmapped_bytes = 0;                       // Reading::unmapped_bytes
  uint64_t gone_bytes = 0;                           // Reading::gone_bytes
  Meanwhile meanwhile{};                             // as far as it was watched
  bool is_flushed = true;                            // Clearing::is_flushed
  bool knows_error = true;  // false: by regions (DAMON), which have no bound
  std::vector<MappingUse> uses;
  std::vector<Window> windows;  // of each of `uses`
  // maybeOfOthers(), stored if `uses` are not.
  std::optional<uint64_t> of_others_bytes = std::nullopt;
  std::vector<PageBits> pages;  // Reading::pages
  std::vector<Frame> frames;    // Reading::frames
  // Memory that is mapped more than once, which `sums` count each time (repeats.h); and the same
  // sums with each page once, if it is known where pages lie.
  uint64_t repeated_bytes = 0;
  std::optional<Once> once = std::nullopt;
  Cost cost;  // of the reading, and of the clearing if this row has its own
  Pass clear, read;
};

// The window of the sum is that at the middle of the touched memory.
Row rowOf(const Clearing& clearing, Reading reading, int64_t slept_ns);

// Upper bound of the touched bytes in pages that other processes map too, and may have touched.
uint64_t maybeOfOthers(const Row& row);

// For a row of written memory: bytes per second, and the time until all memory would be written; 0:
// nothing was written.
double writeRate(const Row& row);
double allWrittenAfter_s(const Row& row);

// Whether huge pages may be missing where another DAMON clears accessed bits. It takes a few pages,
// of which only huge ones matter: while less than 2 MiB look untouched, none is missing.
inline bool mayMissHugePages(const MappingSums& sums) {
  constexpr uint64_t kHugePage = uint64_t{2} << 20;
  return sums.huge > 0 && sums.referenced + kHugePage <= sums.rss;
}

// More may have been touched than is reported: memory was reclaimed, what processors had cached was
// not flushed, or others touch the memory unseen.
inline bool isAtLeast(const Row& row) {
  return row.meanwhile.is_reclaimed || !row.is_flushed || row.meanwhile.unseen.any();
}

// What was touched in the window: what is resident and what was reclaimed.
Touched touchedIn(const Row& row);

// What was touched in a window for certain, and at most. Both leave out what page tables do not
// show.
struct Bounds {
  uint64_t least_bytes = 0;
  std::optional<uint64_t> most_bytes = std::nullopt;  // absent: not known
};
// Bytes of memory that was new to the process in the window, by its minor faults: some of it
// may be freed already. In huge pages it may be more; 0 if the kernel's faults are unknown.
uint64_t newMemory(const Row& row);

Bounds boundsOf(const Row& row);
// The same of windows that end with this one, in which `touched_bytes` were touched.
Bounds boundsOf(uint64_t touched_bytes, const Row& row);

// Calls `onRow` for each; false ends it. Ends early, without an error, if the clock says so: then
// the last window is not reported. `watch`, if there is one, fills Row::meanwhile and is asked
// every 10 ms whether memory is being reclaimed: then the back-end glances, at most a twentieth of
// the time.
base::Status measure(const Process& process, Backend& backend, const Plan& plan, Clock& clock,
                     const std::function<bool(const Row&)>& onRow, MeanwhileWatch* watch = nullptr);

// The state of one of several processes.
struct Outcome {
  std::optional<Row> row;           // of this window
  std::optional<base::Error> gone;  // why there is none, from then on
};
// The same for several at once: all are cleared, then all are read; each has its own windows. If
// one cannot be measured, its outcome says why; if none is left, that is an error. The backend
// keeps its state between clear and read for each process. `watches`: one for each, or none at all.
base::Status measureAll(std::span<const Process* const> processes, Backend& backend,
                        const Plan& plan, Clock& clock,
                        const std::function<bool(std::span<const Outcome>)>& onRows,
                        std::span<MeanwhileWatch* const> watches = {});

}  // namespace tidegauge::wss
