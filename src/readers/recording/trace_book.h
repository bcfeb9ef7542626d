// TraceBook: what the next reading of a recording continues, beside a trace: the rows of events
// that are settled, and the lives of the first device.
//
//   reading 1 → trace A     reading 2 → trace B     reading 3 continues A, if nobody reads it any
//                                                   more: what is settled in it stays as it is
//
// So two traces of a process take turns, each with its own book. The first device (by ordinal) is
// continued. Rows of one device are together, so events of the others are copied after its own, and
// their lives built anew. Memory: 1 bit per event of the first device, 33 bytes per event of the
// others, and the lives (continued_lives.h).
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "model/recorded_work.h"
#include "model/trace.h"
#include "readers/recording/continued_lives.h"
#include "readers/recording/tables/finished_rows.h"

namespace tidegauge::readers::recording {

// The events of one device, before they join those of the others.
struct DeviceColumns {
  model::Events events;
  std::vector<bool> is_driver_block;
  model::RecordedRefusalRows refused;  // `event` is a step

  size_t size() const { return events.size(); }
  void shorten(size_t rows, size_t refusals);
};

struct Streams {
  boost::unordered_flat_map<uint64_t, model::StreamId> ids;
  std::vector<model::Stream> rows{{}};
  std::pair<uint64_t, model::StreamId> last{0, model::StreamId(0)};
};

struct TraceBook {
  // Of the first device's events.
  model::Step settledSteps() const {
    return first < settled.size() ? static_cast<model::Step>(settled[first].events) : 0;
  }

  // Of the rows that are settled.
  FinishedRows::State rows;
  Streams streams;
  struct Settled {
    size_t events = 0, refusals = 0;
  };
  std::vector<Settled> settled;        // by index of rows.devices
  std::vector<DeviceColumns> columns;  // events of the first device are in the trace
  size_t first = 0;                    // index of the first device
  int32_t first_device = kNotKnown;    // its ordinal
  ContinuedLives lives;

  // The trace that goes with it, while nobody has it.
  bool has_trace = false;
  model::Trace trace;
  std::shared_ptr<const model::RecordedWork> work;  // by which the trace is known
  model::Continuation continuation;
  // Null: nobody else has what is settled here.
  std::shared_ptr<model::SettledWork> settled_work;
};

// A book of its own, with a copy of the trace that goes with `book`.
std::unique_ptr<TraceBook> copyOf(const TraceBook& book, const model::Trace& trace);

}  // namespace tidegauge::readers::recording
