// EventRows: turns the ledger's effects for one process into rows of events, and keeps the live
// memory after them.
//
//   effects ─► rows (some provisional: "this driver block is an allocation, too")
//           ─► live segments and blocks            ─► FinishedRows puts both in their final form
//
// Only at the end is it known whether the framework ever placed a block inside a driver block.
// Until then, the driver block is a provisional allocation.
//
//   rows.mark();        a recording that grows: the latest calls may get another order
//   rows.take(…) …
//   rows.rollBack();    as at mark()
//
// Cost: O(log live) per effect, 64 bytes per row; mark() and rollBack() O(live + rows since).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/issues.h"
#include "model/ledger/effect.h"
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
  // kOom: the time of the first. Of a segment: it happened between this and time_ns.
  int64_t other_ns = 0;
  uint32_t stack = model::kNoStackOfCall;
  int32_t device = kNotKnown;
  uint32_t refusals = 0;  // kOom: the length of the run of refusals that this one ends
  model::Action action{};
  bool is_provisional : 1 = false;
  bool is_carried : 1 = false;     // live when this part of a recording began
  bool is_retried : 1 = false;     // a refusal that was not final: the thread asked again at once
  bool is_older_free : 1 = false;  // of memory older than the recording: its size is unknown
};
static_assert(sizeof(EventRow) == 64);

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

// What the driver gave as a whole.
struct EventPlace {
  int32_t device = kNotKnown;
  bool has_blocks = false;
  uint64_t stream = 0;  // of the first block inside
  bool is_used = false;
  size_t first_row = 0;  // no row before it names the place, once it is used
};

// What is true after the last row: its size does not depend on the number of rows.
struct RowsNow {
  std::map<uint64_t, LiveSegment> segments;
  std::map<uint64_t, LiveBlock> blocks;
  std::vector<size_t> unanswered;           // rows of kOom without a later allocation or free
  std::map<uint32_t, size_t> last_refusal;  // by thread: its row of kOom
  std::map<int32_t, uint64_t> total_bytes;  // by device: the last size that the driver reported
  bool saw_older = false;           // memory older than the recording, so totals are lower bounds
  bool has_outside_blocks = false;  // in no known segment
  bool has_older_frees = false;
  bool has_managed = false;
  model::Issues issues;
};

class EventRows {
 public:
  void take(const model::Effect& effect);
  void mark();
  void rollBack();

  const std::vector<EventRow>& rows() const { return rows_; }
  std::vector<EventRow>& rows() { return rows_; }
  const std::vector<EventPlace>& places() const { return places_; }
  const RowsNow& now() const { return now_; }
  // Rows before mark().
  size_t markedRows() const { return marked_.rows; }
  // The first row that was changed after it was taken, itself or by what is known of its place,
  // since the last time that this was asked: whoever keeps what rows came down to must begin there.
  size_t takeFirstChange() { return std::exchange(first_change_, SIZE_MAX); }

 private:
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
  void onAnswered(const model::Effect& effect);
  // The thread's last refusal, if this one repeats the same request.
  const EventRow* settleRefusal(const model::Effect& effect);
  // For a change; what was marked is kept.
  EventPlace& placeOf(uint64_t place);
  EventRow& rowAt(size_t row);
  void setDevice(uint64_t place, int32_t device);
  void setBlocks(uint64_t place, uint64_t stream);
  void noteChange(size_t row) { first_change_ = std::min(first_change_, row); }

  std::vector<EventRow> rows_;
  std::vector<EventPlace> places_;
  RowsNow now_;
  size_t first_change_ = SIZE_MAX;

  struct Marked {
    size_t rows = 0, places = 0;
    RowsNow now;
    std::vector<std::pair<size_t, EventRow>> changed_rows;  // as they were
    std::vector<std::pair<size_t, EventPlace>> changed_places;
  };
  Marked marked_;  // without mark(): nothing
};

}  // namespace tidegauge::readers::recording
