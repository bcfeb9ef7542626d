// Two recordings event by event: how far do they go the same way?
//
//   A   alloc 4 MiB f   alloc 2 MiB g   free f   alloc 1 MiB h
//   B   alloc 4 MiB f   alloc 2 MiB g   free f   alloc 2 MiB h        the same for 3 events
//                                                └ first that differs: step 3
//
// Equal events have the same action, size, and stack but for paths (diff_stacks.h). Addresses,
// streams, times and the requests' device do not count: they differ between ranks of one job.
// Cost: O(events + frames).
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/trace/analysed_trace.h"

namespace tidegauge::analysis {

struct DiffEvents {
  uint64_t events_a = 0;
  uint64_t events_b = 0;
  uint64_t same = 0;  // from the first one on
  bool allSame() const { return same == events_a && same == events_b; }

  // Where the two took longest unlike: between this step and the one before it. Only of recordings
  // that are the same all along and have times.
  struct Pause {
    Step step = 0;
    uint64_t us_a = 0;
    uint64_t us_b = 0;
  };
  std::optional<Pause> pause;
  std::optional<uint64_t> length_us_a;  // first to last event; absent without times
  std::optional<uint64_t> length_us_b;
};

DiffEvents diffEvents(const AnalysedTrace& trace_a, const DeviceAnalysis& a,
                      const AnalysedTrace& trace_b, const DeviceAnalysis& b);

}  // namespace tidegauge::analysis
