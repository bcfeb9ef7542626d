// EventRows: turns the ledger's effects for one process into ordered events and the live memory
// after them.
//
//   effects ─► rows (some provisional: "this driver block is an allocation, too")
//           ─► live segments and blocks                         ─► buildTrace writes both
//
// Only at the end is it known whether the framework ever placed a block inside a driver block.
// Until then, the driver block is a provisional allocation.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "model/issues.h"
#include "model/ledger/effect.h"
#include "model/recorded_work.h"
#include "model/trace.h"

namespace tidegauge::readers::recording {

using model::kHostOrdinal;
inline constexpr int32_t kNotKnown = -2;  // here, since −1 is the host

struct EventRow {
  int64_t time_ns = 0;
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  uint64_t stream = 0;
  uint64_t place = 0;
  uint32_t stack = model::kNoStackOfCall;
  int32_t device = kNotKnown;
  model::Action action{};
  bool is_provisional = false;
  bool is_carried = false;     // live when this part of a recording began
  bool is_retried = false;     // a refusal that was not final: the thread asked again at once
  bool is_older_free = false;  // of memory older than the recording: its size is unknown
  uint64_t refusals = 0;       // kOom: the length of the run of refusals that this one ends
  // kOom: the time of the first. Of a segment: it happened between this and time_ns.
  int64_t other_ns = 0;
};

struct LiveSegment {
  uint64_t end = 0;
  uint64_t place = 0;
  uint64_t stream = 0;
  uint32_t stack = model::kNoStackOfCall;
  int32_t device = kNotKnown;
  bool is_expandable = false;
  bool is_older = false;  // than the recording: a lower bound of its size
};

struct LiveBlock {
  uint64_t requested_bytes = 0;
  uint64_t block_bytes = 0;
  uint32_t stack = model::kNoStackOfCall;
};

// Its flags are facts of a whole recording, of which the last rows decide: hence its many members.
class EventRows {
 public:
  explicit EventRows(model::Issues& issues) : issues_(issues) {}

  void take(const model::Effect& effect);
  // Removes provisional rows that were not confirmed, and sets the device of every row. After that,
  // rows of one device are contiguous, by ordinal, the host last.
  void finish();

  const std::vector<EventRow>& rows() const { return rows_; }
  // Allocations from before the first row, which have no rows.
  const std::vector<EventRow>& carried() const { return carried_; }
  const std::map<uint64_t, LiveSegment>& segments() const { return segments_; }
  const std::map<uint64_t, LiveBlock>& blocks() const { return blocks_; }
  bool hasBlocks(uint64_t place) const;
  int32_t deviceOf(const LiveSegment& segment) const;
  model::Known knownOf(int32_t device) const;
  // A framework placed blocks there; if not, the program uses driver memory directly.
  bool hasAllocator(int32_t device) const { return with_allocator_.contains(device); }
  uint64_t streamOf(const LiveSegment& segment) const;
  // After finish(): how far the order of concurrent calls may change its peaks.
  model::PeakSlack peakSlackOf(int32_t device) const;
  // Some memory is older than the recording, so totals are lower bounds.
  bool sawOlder() const { return saw_older_; }
  uint64_t olderBytes() const { return older_bytes_; }  // of segments that only blocks show
  uint64_t olderSegments() const { return older_segments_; }
  // The last size that the driver reported; 0: none.
  uint64_t totalBytesOf(int32_t device) const;
  bool hasManaged() const { return has_managed_; }

 private:
  struct Place {
    int32_t device = kNotKnown;
    bool has_blocks = false;
    uint64_t stream = 0;  // of the first block inside
  };
  EventRow rowOf(const model::Effect& effect, model::Action action) const;
  void add(EventRow row, model::Action action, bool is_provisional);
  void addFrees(EventRow row, bool is_provisional);
  void onReserved(const model::Effect& effect);
  void onReturned(const model::Effect& effect);
  void onMapped(const model::Effect& effect);
  void onUnmapped(const model::Effect& effect);
  void onBlock(const model::Effect& effect);
  void onFailure(const model::Effect& effect);
  void onOlderFreed(const model::Effect& effect);
  void takeOlderSegments();
  void onAnswered(const model::Effect& effect);
  // The thread's last refusal, if this one repeats the same request.
  EventRow* settleRefusal(const model::Effect& effect);
  void takeCarried();
  Place& placeOf(uint64_t place);

  model::Issues& issues_;
  std::vector<EventRow> rows_, carried_;
  std::vector<Place> places_;
  std::map<uint64_t, LiveSegment> segments_;
  std::map<uint64_t, LiveBlock> blocks_;
  std::vector<size_t> unanswered_;           // rows of kOom without a later allocation or free
  std::map<uint32_t, size_t> last_refusal_;  // by thread: its row of kOom
  std::map<int32_t, uint64_t> total_bytes_;
  int32_t fallback_ = 0;  // the device for memory whose device is not known
  bool fallback_is_known_ = false, has_guesses_ = false;
  bool saw_older_ = false, has_outside_blocks_ = false;
  bool has_managed_ = false;
  std::set<int32_t> with_allocator_;  // devices
  uint64_t older_bytes_ = 0, older_segments_ = 0;
};

}  // namespace tidegauge::readers::recording
