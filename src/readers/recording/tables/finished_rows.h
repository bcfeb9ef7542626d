// FinishedRows: the rows of EventRows in their final form: without provisional rows that were not
// confirmed, with their devices and streams, and rows of one device together.
//
//   rows    0 alloc gpu 1 · 1 alloc host · 2 provisional, inside are blocks · 3 free gpu 1
//   devices gpu 1: [0, 3]   host: [1]
//
// `from` keeps its rows, so that more can be added to them: at() computes what changes. Only if
// memory older than the recording is proven by blocks, rows are copied. Cost: one pass over the
// rows, 4 bytes per row that stays.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "model/issues.h"
#include "model/recorded_work.h"
#include "model/trace.h"
#include "readers/recording/tables/event_rows.h"

namespace tidegauge::readers::recording {

class FinishedRows {
 public:
  // `from` must not change while this is used.
  FinishedRows(const EventRows& from, model::Issues& issues);

  struct OfDevice {
    int32_t device = 0;
    std::vector<uint32_t> rows;  // for at()
  };
  const std::vector<OfDevice>& devices() const { return devices_; }  // by ordinal, the host last
  size_t size() const;
  EventRow at(uint32_t row) const;
  const std::vector<uint64_t>& streams() const { return streams_; }  // by first row

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
  // How far the order of concurrent calls may change its peaks.
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
  bool stays(const EventRow& row) const;
  EventRow finished(EventRow row) const;
  void findFallback();
  void noteGuess(const EventRow& row, model::Issues& issues);
  void takeRows(model::Issues& issues);
  void takeOlderSegments();
  void keep(uint32_t index, const EventRow& row);

  const EventRows& from_;
  std::vector<EventRow> own_;  // instead of those of from_
  bool has_own_ = false;
  std::vector<OfDevice> devices_;
  std::vector<uint64_t> streams_;
  boost::unordered_flat_set<uint64_t> known_streams_;
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
