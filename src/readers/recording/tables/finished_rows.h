// FinishedRows: the rows of EventRows in their final form: without provisional rows that were not
// confirmed, with their devices and streams, and rows of one device together.
//
//   rows    0 alloc gpu 1 · 1 alloc host · 2 provisional, inside are blocks · 3 free gpu 1
//   devices gpu 1: [0, 3]   host: [1]
//
//   FinishedRows rows(book.rows());
//   rows.forEach(end, [&](size_t device, const EventRow& row) { … });    row after row, by time
//   rows.devices()[device].device                                      its ordinal
//
// `from` keeps its rows, so that more can be added to them: each row is finished as it passes. Only
// if memory older than the recording is proven by blocks, rows are copied. A recording that grows
// continues with the state that it had after earlier rows. Cost: one pass over the rows, 15 ns
// each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "model/issues.h"
#include "model/recorded_work.h"
#include "model/trace.h"
#include "readers/recording/tables/event_rows.h"
#include "readers/recording/tables/peak_slack.h"

namespace tidegauge::readers::recording {

class FinishedRows {
 public:
  struct OfDevice {
    int32_t device = 0;
    // Some calls ran at the same time, so the order of their effects is not known.
    bool has_overlap = false;
    int64_t newest_ns = INT64_MIN;
  };
  // What the rows so far came to.
  struct State {
    size_t rows = 0;
    std::vector<OfDevice> devices;  // by their first row
    size_t last_device = 0;         // index of devices
    std::set<int32_t> with_allocator;
    int32_t last_allocator = kNotKnown;  // the newest of with_allocator
    std::vector<EventRow> carried;
    model::Issues guesses;  // memory whose device is not known
    bool has_guesses = false;
    int32_t lowest_device = kNotKnown;  // of those that the rows name
    int32_t fallback = kNotKnown;       // with which the rows were finished
  };

  // `from` must not change while this is used. `state`: after its first rows.
  FinishedRows(const EventRows& from, State state);

  // Are the first rows as they were when `state` was made? (Else begin without it.)
  bool continues() const {
    return !from_.now().has_outside_blocks && (state_.rows == 0 || state_.fallback == fallback_);
  }
  const State& state() const { return state_; }

  // Calls take(device, row) for every row before `end` that was not passed yet, `device` being an
  // index of devices(). Everything else is known after the last one.
  template <class Take>
  void forEach(size_t end, const Take& take) {
    if (from_.now().has_outside_blocks) {
      if (state_.rows > 0) return;
      state_.rows = from_.rows().size();
      copyRows();
      for (const EventRow& row : own_) pass(row, take);
      return;
    }
    for (; state_.rows < end; ++state_.rows) {
      EventRow row;
      if (finish(from_.rows()[state_.rows], row) && !row.is_older_free) pass(row, take);
    }
  }

  const std::vector<OfDevice>& devices() const { return state_.devices; }
  // Memory whose device is not known.
  const model::Issues& guesses() const { return state_.guesses; }
  // Indices of devices(), by ordinal, the host last.
  std::vector<size_t> inOrder() const;

  // Allocations from before the first row, which have no rows.
  const std::vector<EventRow>& carried() const { return state_.carried; }
  const std::map<uint64_t, LiveSegment>& segments() const { return segments_; }
  const std::map<uint64_t, LiveBlock>& blocks() const { return from_.now().blocks; }
  bool hasBlocks(uint64_t place) const;
  int32_t deviceOf(const LiveSegment& segment) const;
  model::Known knownOf(int32_t device) const;
  // A framework placed blocks there; if not, the program uses driver memory directly.
  bool hasAllocator(int32_t device) const { return state_.with_allocator.contains(device); }
  uint64_t streamOf(const LiveSegment& segment) const;
  // How far the order of concurrent calls may change its peaks. Another pass, if there were any.
  model::PeakSlack peakSlackOf(int32_t device) const;
  // Some memory is older than the recording, so totals are lower bounds.
  bool sawOlder() const { return saw_older_; }
  uint64_t olderBytes() const { return older_bytes_; }  // of segments that only blocks show
  uint64_t olderSegments() const { return older_segments_; }
  // The last size that the driver reported; 0: none.
  uint64_t totalBytesOf(int32_t device) const;
  bool hasManaged() const { return from_.now().has_managed; }

 private:
  int32_t statedDevice(const EventRow& row) const;
  const EventPlace* find(uint64_t place) const;
  void complete(EventRow& row, const EventPlace* place) const;
  // False: the row does not stay.
  bool finish(const EventRow& from, EventRow& row);
  void findFallback();
  void noteGuess(const EventRow& row);
  void copyRows();
  void takeOlderSegments();
  size_t indexOf(int32_t device);
  static bool stays(const EventRow& row, const EventPlace* place);
  // The rows of a device again, as take() got them.
  template <class Take>
  void forEachOf(int32_t device, const Take& take) const;
  static Move moveOf(const EventRow& row, bool& of_block);

  template <class Take>
  void pass(const EventRow& row, const Take& take) {
    if (row.is_carried) {
      if (row.action == model::Action::kAlloc) state_.carried.push_back(row);
      return;
    }
    size_t& last = state_.last_device;
    if (last >= devices().size() || devices()[last].device != row.device)
      last = indexOf(row.device);
    OfDevice& of = state_.devices[last];
    bool of_block = false;
    Move move = moveOf(row, of_block);
    of.has_overlap |= move.earliest_ns() < of.newest_ns;
    of.newest_ns = std::max(of.newest_ns, move.latest_ns());
    take(last, row);
  }

  const EventRows& from_;
  std::vector<EventRow> own_;  // instead of those of from_
  bool has_own_ = false;
  State state_;
  std::map<uint64_t, LiveSegment> segments_;
  std::vector<EventPlace> older_places_;  // after those of from_
  int32_t fallback_ = 0;                  // the device for memory whose device is not known
  bool fallback_is_known_ = false;
  bool saw_older_ = false;
  uint64_t older_bytes_ = 0, older_segments_ = 0;
};

}  // namespace tidegauge::readers::recording
