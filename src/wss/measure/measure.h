// The four courses of a measurement, as wss.pl has them:
//
//   single      clear ── d ── read
//   cumulative  clear ── d ── read ── d ── read ── d ── read …        what is touched grows
//   snapshots   clear ── d ── read ── pause ── clear ── d ── read …   each window alone
//   profile     clear ─ d ─ read ─ d ─ read ── 2d ── read ──── 4d …   windows d, 2d, 4d, 8d
//
// A profile clears once, so that each of its windows costs one read.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "wss/backends/backend.h"

namespace tidegauge::wss {

enum class Course : uint8_t { kSingle, kCumulative, kSnapshots, kProfile };

struct Plan {
  Course course = Course::kSingle;
  int64_t duration_ns = 0;                         // of one window
  int64_t pause_ns = 0;                            // between snapshots
  std::optional<int64_t> total_ns = std::nullopt;  // ends after the row in which this has passed
  bool as_wss_pl = false;  // which looks at that before the pause between snapshots alone
  int steps = 0;           // of a profile
};

// One row of the answer.
struct Row {
  int64_t slept_ns = 0;  // since it was cleared; of a snapshot its own
  int64_t taken_ns = 0;  // from the beginning of the clearing to the end of the reading
  int64_t estimate_ns =
      0;          // as wss.pl has it: from the middle of the clearing to that of the reading
  Window window;  // what really was: of the memory in the mean, and of its ends
  MappingSums sums;
  std::optional<double> error_bytes = std::nullopt;  // of sums.referenced, of a sample: 95 %
  uint64_t uncleared_bytes = 0;                      // Reading::uncleared_bytes
  uint64_t unread_bytes = 0;                         // Reading::unread_bytes
  uint64_t unmapped_bytes = 0;                       // Reading::unmapped_bytes
  bool knows_error = true;  // false: by regions (DAMON), which have no bound
  std::vector<MappingUse> uses;
  std::vector<Window> windows;  // of each of `uses`
  // maybeOfOthers(), kept where `uses` are not.
  std::optional<uint64_t> of_others_bytes = std::nullopt;
  std::vector<PageBits> pages;  // Reading::pages
  std::vector<Frame> frames;    // Reading::frames
  Cost cost;  // of the reading, and of the clearing if this row has one of its own
  Pass clear, read;
};

// What lies in the middle of the memory that was touched says what window the sum has.
Row rowOf(const Clearing& clearing, Reading reading, int64_t slept_ns);

// Of what was touched, at most so much is in pages that other processes map too, who may have
// touched them.
uint64_t maybeOfOthers(const Row& row);

// Of a row of what was written: bytes in a second, and after how long all that is there would be;
// 0: nothing was.
double writeRate(const Row& row);
double allWrittenAfter_s(const Row& row);

// Calls `onRow` for each; false ends it. Ends early, without an error, when the clock says so: then
// the last window is not told.
base::Status measure(const Process& process, Backend& backend, const Plan& plan, Clock& clock,
                     const std::function<bool(const Row&)>& onRow);

// What became of one of several processes.
struct Outcome {
  std::optional<Row> row;           // of this window
  std::optional<base::Error> gone;  // why there is none, from then on
};
// The same of several at once: all are cleared, then all are read; each has the windows that it
// has. What keeps one from being measured is told with the others; when none is left it is an
// error. What the backend remembers of a process between clear and read it keeps for each.
base::Status measureAll(std::span<const Process* const> processes, Backend& backend,
                        const Plan& plan, Clock& clock,
                        const std::function<bool(std::span<const Outcome>)>& onRows);

}  // namespace tidegauge::wss
