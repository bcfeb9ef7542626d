// ContinuedLives: the lives of a device of a recording that grows, continued where they ended at
// the last reading, so that a reading costs what is new.
//
//   reading 1   ├ settled ┤├ the latest calls ┤ final state
//   reading 2   ├ settled ─────────┤├ the latest calls ┤ final state
//                          begin() forgets what was not settled; run() continues
//
// It writes exactly the rows that model::buildLives() and joinDriverBlocks() write, for recordings
// that contradict themselves nowhere: each alloc is in a segment that was allocated in the
// recording, each free ends a life, and the final state has what was not freed. For any other one
// run() says so, and whoever asked builds the lives anew. So are ranges that are mapped, whose
// segments change as more is mapped.
//
// Cost: 0.2 µs per new event, O(live) per reading; 48 bytes per address, 4 per allocation.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/sorted_chunks.h"
#include "model/lives/continuation.h"
#include "model/trace.h"

namespace tidegauge::readers::recording {

class ContinuedLives {
 public:
  // `trace` has the rows of the last reading: keeps the settled ones. O(live + latest calls)
  void begin(model::Trace& trace);
  // Events of the device, the trace's first one, are in the trace, those before `settled` for good,
  // and events.subject has one row each. `is_driver_block`, by event, as for joinDriverBlocks().
  // False: this recording is not of the kind that it continues.
  bool run(model::Trace& trace, model::Device& device, const std::vector<bool>& is_driver_block,
           model::Step settled);
  // After run(): what is as it was in the reading before.
  model::Continuation continuation() const { return continuation_; }

 private:
  static constexpr uint32_t kNoRow = UINT32_MAX;

  struct Place {  // an address
    uint64_t inferred_bytes = 0;
    uint32_t row = kNoRow;                      // the block that is live there
    uint32_t version = 0;                       // lives that have ended there
    model::Step requested_at = model::kNoStep;  // its free
    uint8_t flags = 0;                          // of the life, without those of its end
    bool operator==(const Place&) const = default;
  };
  struct Segment {
    uint64_t end = 0;
    uint32_t row = 0;
    uint32_t last_block = kNoRow;  // its newest allocation; previous_ has the others
    bool has_parts = false;        // blocks that are not the whole segment
  };
  struct Start {
    uint64_t operator()(uint64_t address) const { return address; }
  };

  bool runEvents(model::Step begin, model::Step end);
  bool takeEvent(model::Step step);
  bool onSegment(model::Step step);
  bool onSegmentFree(model::Step step);
  bool onAlloc(model::Step step);
  bool onFreeRequested(model::Step step);
  bool onFreeCompleted(model::Step step);
  void addBlock(model::Step step, uint64_t segment_begin, Segment& segment, Place& place);
  void inferSize(uint32_t row, const Segment& segment, Place& place);
  bool writeFinalState(model::Device& device);
  bool endSegments(const model::Device& device);
  bool endBlocks(const model::Device& device);
  bool isWhole(uint32_t row) const;
  bool isDriverBlock(model::Step step, model::Action action, uint32_t segment) const;
  void setPools(uint32_t last_block, model::PoolId pool);
  void shorten(model::Trace& trace) const;
  void keepOpenSizes();
  void compareOpenSizes();

  // Changes that begin() can undo.
  Place& placeAt(uint64_t address);
  Segment& segmentAt(uint64_t begin);
  void insertStart(uint64_t address);
  void eraseStart(uint64_t address);

  model::Trace* trace_ = nullptr;  // of this reading
  const std::vector<bool>* is_driver_block_ = nullptr;
  boost::unordered_flat_map<uint64_t, Place> places_;
  std::map<uint64_t, Segment> segments_;        // live ones, by their begin
  base::SortedChunks<uint64_t, Start> starts_;  // live blocks of large segments
  std::vector<uint32_t> previous_;              // by allocation: the one before in its segment
  uint64_t live_ = 0;                           // blocks

  struct Settled {
    model::Step steps = 0;
    size_t allocations = 0, segments = 0;
    uint64_t live = 0;
  };
  Settled settled_;
  bool is_settling_ = true;
  struct Changes {  // since what is settled, as it was before
    std::vector<std::pair<uint64_t, Place>> places;
    std::vector<std::pair<uint64_t, std::optional<Segment>>> segments;
    std::vector<std::pair<uint64_t, bool>> starts;  // true: it was inserted
  };
  Changes changes_;
  // Settled rows whose end is not, with their sizes in this reading; by row.
  std::vector<model::Continuation::Resized> open_;
  std::vector<uint32_t> ended_late_;  // of these, the rows that ended since what is settled
  model::Continuation continuation_;
};

}  // namespace tidegauge::readers::recording
