#include "model/lives/block_layout.h"

#include <algorithm>
#include <array>

#include "base/sorted_chunks.h"
#include "base/threads/parallel.h"
#include "model/block_size.h"
#include "model/columns/fetch.h"

namespace tidegauge::model {
namespace {

// An oversize request (≥ max_split_size) takes a whole block if that is larger by less than this.
constexpr uint64_t kOversizeRemainderBytes = uint64_t{20} << 20;

struct Itself {
  uint64_t operator()(uint64_t address) const { return address; }
};
using Starts = base::SortedChunks<uint64_t, Itself>;

// Segments do not concern each other, so their blocks are placed by several processors. One walk
// over the events finds those of such blocks, since most blocks are in other segments.
class BlockLayout {
 public:
  BlockLayout(Trace& trace, const Device& device)
      : trace_(trace),
        device_(device),
        parts_(base::partsFor(device.steps(), kMaxParts)),
        starts_(device.segment_end - device.segment_begin),
        is_large_(device.allocation_end - device.allocation_begin),
        changes_(parts_ * parts_) {}

  void run() {
    findLarge();
    base::eachAtOnce(parts_, parts_, [&](size_t slice) { findChanges(slice); });
    base::eachAtOnce(parts_, parts_, [&](size_t part) { place(part); });
  }

 private:
  static constexpr size_t kMaxParts = 4, kAtOnce = 256;
  // A row of the device, and in the lowest bit whether it begins. Rows have 31 bits, as
  // BlockNumber.
  using Change = uint32_t;

  void findLarge() {
    const Allocations& a = trace_.allocations;
    const SegmentKind* kinds = trace_.segments.kind.data();
    for (uint64_t row = device_.allocation_begin; row < device_.allocation_end; ++row) {
      // Most are in a segment of small blocks, whose sizes rounding explains.
      SegmentId segment = a.segment[row];
      if (segment.valid() && a.has(row, kAllocSeen) &&
          kinds[segment.index()] == SegmentKind::kSmall)
        continue;
      bool is_large = isLargeOrdinary(row);
      if (is_large) is_large_[row - device_.allocation_begin] = true;
      if (a.has(row, kAllocSeen)) {
        if (!is_large && mayBeLarger(row)) trace_.allocations.flags[row] |= kBlockUncertain;
        continue;
      }
      if (!a.has(row, kBlockInferred)) {
        if (a.first_step[row] == 0) insert(row);
        continue;
      }
      if (a.first_step[row] == 0) insert(row);
      if (mayBeLarger(row)) trace_.allocations.flags[row] |= kBlockUncertain;
    }
  }

  // What one part of the segments changes in one slice of the events.
  std::vector<Change>& changesOf(size_t slice, size_t part) {
    return changes_[slice * parts_ + part];
  }

  void findChanges(size_t slice) {
    uint64_t steps = device_.steps(), end = device_.event_begin + steps * (slice + 1) / parts_;
    for (uint64_t event = device_.event_begin + steps * slice / parts_; event < end;) {
      uint64_t next = std::min(event + kAtOnce, end);
      addChanges(slice, event, next);
      event = next;
    }
  }

  // First which events are of such blocks, without branches, since that cannot be predicted; then
  // what they change.
  void addChanges(size_t slice, uint64_t begin, uint64_t end) {
    const Allocations& a = trace_.allocations;
    const Action* action = trace_.events.action.data();
    const uint32_t* subject = trace_.events.subject.data();
    std::array<uint32_t, kAtOnce> found;
    size_t count = 0;
    for (uint64_t event = begin; event < end; ++event) {
      uint32_t row = subject[event];
      if (action[event] > Action::kFree || row == UINT32_MAX) continue;
      // The next event ends it.
      uint64_t next = std::min(event + 1, end - 1);
      unsigned waits = static_cast<unsigned>(action[event] == Action::kFreeRequested) &
                       static_cast<unsigned>(action[next] == Action::kFreeCompleted) &
                       static_cast<unsigned>(subject[next] == row);
      found[count] = static_cast<uint32_t>(event - begin);
      count += static_cast<size_t>(is_large_[row - device_.allocation_begin]) & size_t{1 - waits};
      fetch(&a.segment[row]);
    }
    for (size_t i = 0; i < count; ++i) {
      uint64_t event = begin + found[i];
      uint32_t row = subject[event];
      auto step = static_cast<Step>(event - device_.event_begin);
      bool begins = a.first_step[row] == step && a.has(row, kAllocSeen);
      if (!begins && a.last_step[row] != step) continue;
      auto number = static_cast<uint32_t>(row - device_.allocation_begin);
      changesOf(slice, a.segment[row].index() % parts_).push_back(number << 1 | (begins ? 1U : 0U));
    }
  }

  void place(size_t part) {
    constexpr size_t kAhead = 16;  // rows are at random places
    const Allocations& a = trace_.allocations;
    for (size_t slice = 0; slice < parts_; ++slice) {
      const std::vector<Change>& changes = changesOf(slice, part);
      for (size_t i = 0; i < changes.size(); ++i) {
        uint64_t ahead =
            device_.allocation_begin + (changes[std::min(i + kAhead, changes.size() - 1)] >> 1);
        fetch(&a.segment[ahead]);
        fetch(&a.address[ahead]);
        uint64_t row = device_.allocation_begin + (changes[i] >> 1);
        if ((changes[i] & 1) != 0) {
          onAlloc(row);
        } else {
          erase(row);
        }
      }
    }
  }

  bool isLargeOrdinary(uint64_t row) const {
    SegmentId segment = trace_.allocations.segment[row];
    return segment.valid() && trace_.segments.kind[segment.index()] == SegmentKind::kLarge;
  }

  // Rounding alone may give too small a size.
  bool mayBeLarger(uint64_t row) const {
    if (trace_.settings.expandable_segments) return false;
    SegmentId segment = trace_.allocations.segment[row];
    bool unknown = device_.missing.has(Action::kSegmentAlloc) && segment.valid() &&
                   trace_.segments.kind[segment.index()] == SegmentKind::kUnknown;
    if (segment.valid() && !unknown) return isLargeOrdinary(row);
    return roundedBytes(trace_.allocations.requested_bytes[row], trace_.settings) >
           kSmallRequestBytes;
  }

  Starts& startsOf(uint64_t row) {
    return starts_[trace_.allocations.segment[row].index() - device_.segment_begin];
  }

  void insert(uint64_t row) {
    if (!isLargeOrdinary(row)) return;
    startsOf(row).insert(trace_.allocations.address[row]);
  }

  void erase(uint64_t row) {
    Starts& starts = startsOf(row);
    auto at = starts.lowerBound(trace_.allocations.address[row]);
    if (at != starts.end() && starts.at(at) == trace_.allocations.address[row]) starts.erase(at);
  }

  void onAlloc(uint64_t row) {
    Allocations& a = trace_.allocations;
    Starts& starts = startsOf(row);
    uint64_t address = a.address[row];
    auto at = starts.lowerBound(address);
    bool occupied = at != starts.end() && starts.at(at) == address;
    size_t segment = a.segment[row].index();
    uint64_t segment_end = trace_.segments.address[segment] + trace_.segments.total_bytes[segment];
    uint64_t free_end = at == starts.end() ? segment_end : starts.at(at);
    if (!occupied) starts.insert(at, address);
    if (!a.has(row, kBlockInferred)) return;  // the final state has the exact size
    uint64_t rounded = roundedBytes(a.requested_bytes[row], trace_.settings);
    // Without all allocs and frees, the neighbours are not known.
    bool unsure =
        device_.missing.touches({Action::kAlloc, Action::kFreeRequested, Action::kFreeCompleted});
    // In a contradictory file the place is taken.
    if (unsure || occupied || free_end - address < rounded) {
      a.flags[row] |= kBlockUncertain;
      return;
    }
    uint64_t remainder = free_end - address - rounded;
    uint64_t keep = trace_.settings.expandable_segments         ? 0
                    : rounded < trace_.settings.max_split_bytes ? kUnsplitRemainderBytes
                                                                : kOversizeRemainderBytes;
    if (remainder <= keep) a.block_bytes[row] = rounded + remainder;
  }

  Trace& trace_;
  const Device& device_;
  size_t parts_;
  std::vector<Starts> starts_;  // live block addresses of each large segment, sorted
  // By row: in an ordinary large segment. Most are not, and a bit of them stays in the cache.
  std::vector<bool> is_large_;
  std::vector<std::vector<Change>> changes_;
};

}  // namespace

void inferBlocks(Trace& trace, const Device& device) { BlockLayout(trace, device).run(); }

uint64_t blockSlackBytes(const Trace& trace, size_t row) {
  if (!trace.allocations.has(row, kBlockUncertain)) return 0;
  uint64_t rounded = roundedBytes(trace.allocations.requested_bytes[row], trace.settings);
  return rounded < trace.settings.max_split_bytes ? kUnsplitRemainderBytes
                                                  : kOversizeRemainderBytes;
}

}  // namespace tidegauge::model
