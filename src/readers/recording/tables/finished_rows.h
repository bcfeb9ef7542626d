// FinishedRows: the rows of EventRows in their final form: without provisional rows that were not
// confirmed, with their devices and streams, and rows of one device together.
//
//   rows    0 alloc gpu 1 · 1 alloc host · 2 provisional, inside are blocks · 3 free gpu 1
//   devices gpu 1: [0, 3]   host: [1]
//
//   FinishedRows rows(book.rows());
//   rows.forEach(issues, [&](size_t device, const EventRow& row) { … });    row after row, by time
//   rows.devices()[device].device                                         its ordinal
//
// `from` keeps its rows, so that more can be added to them: each row is finished as it passes. Only
// if memory older than the recording is proven by blocks, rows are copied. Cost: one pass over the
// rows, 15 ns each.
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
  // `from` must not change while this is used.
  explicit FinishedRows(const EventRows& from);

  // Calls take(device, row) for every row, `device` being an index of devices(). Once; everything
  // else is known after it.
  template <class Take>
  void forEach(model::Issues& issues, const Take& take) {
    findFallback();
    if (from_.now().has_outside_blocks) {
      copyRows(issues);
      for (const EventRow& row : own_) pass(row, take);
      return;
    }
    for (const EventRow& from : from_.rows()) {
      EventRow row;
      if (finish(from, row, issues) && !row.is_older_free) pass(row, take);
    }
  }

  struct OfDevice {
    int32_t device = 0;
    // Some calls ran at the same time, so the order of their effects is not known.
    bool has_overlap = false;
    int64_t newest_ns = INT64_MIN;
  };
  const std::vector<OfDevice>& devices() const { return devices_; }  // by their first row
  // Indices of devices(), by ordinal, the host last.
  std::vector<size_t> inOrder() const;

  // Allocations from before the first row, which have no rows.
  const std::vector<EventRow>& carried() const { return carried_; }
  const std::map<uint64_t, LiveSegment>& segments() const { return segments_; }
  const std::map<uint64_t, LiveBlock>& blocks() const { return from_.now().blocks; }
  bool hasBlocks(uint64_t place) const;
  int32_t deviceOf(const LiveSegment& segment) const;
  model::Known knownOf(int32_t device) const;
  // A framework placed blocks there; if not, the program uses driver memory directly.
  bool hasAllocator(int32_t device) const { return with_allocator_.contains(device); }
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
  bool finish(const EventRow& from, EventRow& row, model::Issues& issues);
  void findFallback();
  void noteGuess(const EventRow& row, model::Issues& issues);
  void copyRows(model::Issues& issues);
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
      if (row.action == model::Action::kAlloc) carried_.push_back(row);
      return;
    }
    if (last_device_ >= devices_.size() || devices_[last_device_].device != row.device)
      last_device_ = indexOf(row.device);
    OfDevice& of = devices_[last_device_];
    bool of_block = false;
    Move move = moveOf(row, of_block);
    of.has_overlap |= move.earliest_ns() < of.newest_ns;
    of.newest_ns = std::max(of.newest_ns, move.latest_ns());
    take(last_device_, row);
  }

  const EventRows& from_;
  std::vector<EventRow> own_;  // instead of those of from_
  bool has_own_ = false;
  std::vector<OfDevice> devices_;
  size_t last_device_ = 0;              // index of devices_
  int32_t last_allocator_ = kNotKnown;  // the newest of with_allocator_
  std::vector<EventRow> carried_;
  std::map<uint64_t, LiveSegment> segments_;
  std::vector<EventPlace> older_places_;  // after those of from_
  std::set<int32_t> with_allocator_;      // devices
  int32_t fallback_ = 0;                  // the device for memory whose device is not known
  bool fallback_is_known_ = false, has_guesses_ = false;
  bool saw_older_ = false;
  uint64_t older_bytes_ = 0, older_segments_ = 0;
};

}  // namespace tidegauge::readers::recording
