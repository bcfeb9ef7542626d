// BlockLives: lives of one device's blocks, from its events, which may arrive range by range.
//
//   BlockLives lives(carried);
//   lives.begin(device, allocs);            room for that many rows
//   lives.addRows(steps 0 … 8,191)          joins allocs and frees by address
//   lives.addRows(steps 8,192 … )           …
//   lives.finish(trace, device, explained)  segments, sizes, final state, order of rows
//
// begin() and addRows() read nothing but the device's ordinal and gaps and the given events, so
// they can run while later events are read. Sizes of blocks, segments and issues need the settings
// and the whole file: finish() adds them. Cost: one lookup per event, 20 to 40 ns; 54 bytes per
// allocation, 32 to 128 per address (place_table.h).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/memory/pages_ahead.h"
#include "model/lives/blocks/event_rows.h"
#include "model/lives/blocks/older_blocks.h"
#include "model/lives/blocks/place_table.h"
#include "model/trace.h"

namespace tidegauge::model {

// Memory from before the first event whose origin is known, since it is in an earlier part.
struct CarriedAllocation {
  int32_t device = 0;
  uint64_t address = 0;
  StackId stack;
  friend bool operator<(const CarriedAllocation& a, const CarriedAllocation& b) {
    return a.device != b.device ? a.device < b.device : a.address < b.address;
  }
};
using CarriedAllocations = std::vector<CarriedAllocation>;  // by device and address

class BlockLives {
 public:
  // An event that ends one of `carried` is not a gap, and the allocation keeps its stack.
  explicit BlockLives(const CarriedAllocations& carried) : carried_(carried) {}

  // `allocs`: expected number of allocations; fewer cost copies, more cost address space. The
  // device's gaps, if it has any, are found already.
  void begin(const Device& device, size_t allocs);
  // Ranges ascend, without a gap between them.
  void addRows(const EventRows& events);
  // Needs all of the device's events, its pieces and `missing`, settings and the final state.
  // Appends its rows, and writes event subjects in their final form. `isExplained`: by the missing
  // kinds; such issues are not reported.
  void finish(Trace& trace, Device& device, bool (*isExplained)(ActionSet, IssueKind));

 private:
  // An issue whose bytes are known at the end, by the settings.
  struct Noted {
    static constexpr uint64_t kNone = UINT64_MAX;
    IssueKind kind{};
    Step step = 0;
    uint64_t requested_bytes = kNone;
  };

  // events
  void makeRoom(const EventRows& events, size_t begin, size_t count);
  void addSome(const EventRows& events, size_t begin, size_t end);
  void fetchAhead(const EventRows& events, size_t i) const;
  void onAlloc(Place& place, const EventRows& events, size_t i);
  bool isWholeFree(const Place& place, const EventRows& events, size_t i) const;
  void onWholeFree(Place& place, const EventRows& events, size_t i);
  void onFree(Place& place, const EventRows& events, size_t i, bool requested, bool completed);
  void addOlder(Place& place, Step step, const EventRows& events, size_t i);
  bool isSameSize(const Place& place, uint64_t bytes) const;
  Step requestOf(const Place& place) const;
  Step lastEnd(const Place& place) const;
  void replaceLive(Place& place, Step step);
  bool endAtGap(Place& place, Step step);
  void endAtRequest(Place& place);
  static void endLife(Place& place);
  const CarriedAllocation* findCarried(uint64_t address) const;

  // the end
  void moveRows(Trace& trace);
  void placeInSegments();
  void joinFinalBlocks();
  void joinFinalBlock(uint64_t segment, uint64_t block, bool pending);
  void addGhost(Place& place, uint64_t segment, uint64_t block, bool pending);
  bool isInFinalState(const Place& place) const;
  void endUnfreed();
  void reportOutside();
  void note(IssueKind kind, Step step, uint64_t bytes);

  const CarriedAllocations& carried_;
  const Device* device_ = nullptr;
  Trace* trace_ = nullptr;  // from finish() on
  bool (*is_explained_)(ActionSet, IssueKind) = nullptr;
  Allocations rows_;  // of traced blocks; moveRows() makes them the last rows of the trace
  size_t used_ = 0;   // of rows_
  base::PagesAhead pages_;
  size_t base_ = 0;  // rows of the trace before them
  PlaceTable places_;
  std::vector<OlderBlock> older_;
  std::vector<Step> older_seen_;  // when the first event named it; ghosts have none
  std::vector<Noted> noted_;
  std::vector<std::pair<uint64_t, BlockNumber>> final_blocks_;  // row, its block
};

}  // namespace tidegauge::model
