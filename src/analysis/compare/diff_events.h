// Two recordings event by event: for how many events are they equal?
//
//   A   alloc 4 MiB f   alloc 2 MiB g   free f   alloc 1 MiB h
//   B   alloc 4 MiB f   alloc 2 MiB g   free f   alloc 2 MiB h        the same for 3 events
//   B   alloc 4 MiB f   alloc 2 MiB g   free f   alloc 2 MiB h        the same for 3 events
//
// Equal events have the same action, size and stack (apart from paths, see diff_stacks.h).
// Addresses, streams, times and the device of a request do not count: ranks of one job differ in
// them.
// Cost: O(events + frames).
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/trace/analysed_trace.h"

namespace tidegauge::analysis {

struct DiffEvents {
  uint64_t events_a = 0;
  uint64_t events_b = 0;
  uint64_t same = 0;  // counted from the first event
  bool allSame() const { return same == events_a && same == events_b; }

  // Where the durations of the two differ most: between this step and the one before it. Only for
  // recordings whose events are all the same and have times.
  struct Pause {
    Step step = 0;
    uint64_t us_a = 0;
    uint64_t us_b = 0;
  };
  std::optional<Pause> pause;
  std::optional<uint64_t> length_us_a;  // from the first event to the last; absent without times
  std::optional<uint64_t> length_us_b;
};

DiffEvents diffEvents(const AnalysedTrace& trace_a, const DeviceAnalysis& a,
                      const AnalysedTrace& trace_b, const DeviceAnalysis& b);

}  // namespace tidegauge::analysis
