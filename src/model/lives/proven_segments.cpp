#include "model/lives/proven_segments.h"

#include <algorithm>
#include <map>
#include <queue>
#include <vector>

#include "model/lives/blocks/owned_ranges.h"
#include "model/lives/segment_rows.h"

namespace tidegauge::model {
namespace {

class ProvenSegments {
 public:
  ProvenSegments(Trace& trace, Device& device)
      : trace_(trace), device_(device), steps_(device.steps()) {}

  void run() {
    readEvents();
    readFinalState();
    coverBlocks();
    writeSegmentRows(trace_, device_, pieces_);
    findSegments();
  }

 private:
  static uint64_t endOf(uint64_t begin, uint64_t bytes) {
    return bytes > UINT64_MAX - begin ? UINT64_MAX : begin + bytes;
  }
  Step justBefore(Step step) const { return step == 0 ? 0 : step - 1; }

  // The first block in a range since its segment was last freed.
  struct Touch {
    Step step = 0;
    bool older = false;  // than the recording
  };

  // With every end of a segment recorded, the blocks since the last one share a segment. Otherwise
  // only those that are there at the end prove the one that is there at the end.
  void touch(uint64_t row) {
    const Allocations& a = trace_.allocations;
    bool proves = !device_.missing.has(Action::kSegmentFree) || a.has(row, kInFinalState);
    if (!proves) return;
    touched_.try_emplace(a.address[row], Touch{a.first_step[row], isOlder(a.provenance[row])});
  }

  // The begin of a piece that ends at `last`: its first block, or only the moment before the end.
  void beginAtFirstTouch(Piece& piece, bool whole) {
    auto begin = touched_.lower_bound(piece.begin), end = touched_.lower_bound(piece.end);
    Touch first{justBefore(std::min(piece.last, steps_)), piece.last == 0 || steps_ == 0};
    for (auto at = begin; whole && at != end; ++at) {
      if (at->second.step < first.step || (at->second.older && !first.older)) first = at->second;
    }
    touched_.erase(begin, end);
    piece.first = first.step;
    piece.lost = !first.older;
  }

  void readEvents() {
    const Events& events = trace_.events;
    uint64_t row = device_.allocation_begin;  // rows ascend by first_step
    for (Step step = 0; step < steps_; ++step) {
      for (; row < device_.allocation_end && trace_.allocations.first_step[row] <= step; ++row) {
        touch(row);
      }
      uint64_t event = device_.event_begin + step;
      if (!kSegmentDeaths.has(events.action[event])) continue;
      Piece piece;
      piece.begin = events.address[event];
      piece.end = endOf(piece.begin, events.size_bytes[event]);
      if (piece.end <= piece.begin) continue;
      piece.last = step;
      piece.ended_by_event = true;
      piece.expandable = events.action[event] == Action::kSegmentUnmap;
      piece.stack = events.stack[event];
      piece.stream = events.stream[event];
      if (!events.pool.empty()) piece.pool = events.pool[event];
      // Pages of an expandable segment are mapped piece by piece.
      beginAtFirstTouch(piece, !piece.expandable);
      pieces_.push_back(piece);
    }
    for (; row < device_.allocation_end; ++row) touch(row);
  }

  void readFinalState() {
    const FinalSegments& finals = trace_.final_segments;
    uint64_t reach = 0;
    for (uint64_t s = device_.final_segment_begin; s < device_.final_segment_end; ++s) {
      Piece piece;
      piece.begin = std::max(finals.address[s], reach);
      piece.end = endOf(finals.address[s], finals.total_bytes[s]);
      if (piece.end <= piece.begin) continue;
      reach = piece.end;
      piece.last = steps_;
      piece.expandable = finals.kind[s] == SegmentKind::kExpandable;
      piece.stack = finals.stack[s];
      piece.stream = finals.stream[s];
      piece.pool = finals.pool[s];
      piece.final_segment = static_cast<uint32_t>(s);
      beginAtFirstTouch(piece, !piece.expandable);
      pieces_.push_back(piece);
    }
  }

  // ---- blocks outside of these pieces

  struct Open {
    uint64_t end = 0;
    Step last = 0;
  };

  void open(uint64_t begin, uint64_t end, Step last) {
    open_.insert_or_assign(begin, Open{end, last});
    ends_.push({last, begin});
  }
  void closeUntil(Step step) {
    while (!ends_.empty() && ends_.top().first <= step) {
      auto at = open_.find(ends_.top().second);
      if (at != open_.end() && at->second.last <= step) open_.erase(at);
      ends_.pop();
    }
  }
  bool overlaps(uint64_t begin, uint64_t end) const {
    auto at = open_.lower_bound(end);
    return at != open_.begin() && std::prev(at)->second.end > begin;
  }

  // When the final segment at an address begins to be drawn; kNoStep if there is none.
  Step finalBegin(uint64_t address, const std::vector<const Piece*>& finals) const {
    auto after = std::upper_bound(finals.begin(), finals.end(), address,
                                  [](uint64_t a, const Piece* p) { return a < p->begin; });
    if (after == finals.begin() || (*std::prev(after))->end <= address) return kNoStep;
    return (*std::prev(after))->first;
  }

  void coverBlocks() {
    const Allocations& a = trace_.allocations;
    std::vector<Piece> known = pieces_;
    std::stable_sort(known.begin(), known.end(),
                     [](const Piece& x, const Piece& y) { return x.first < y.first; });
    std::vector<const Piece*> finals;
    for (const Piece& piece : known) {
      if (piece.final_segment != UINT32_MAX) finals.push_back(&piece);
    }
    std::sort(finals.begin(), finals.end(),
              [](const Piece* x, const Piece* y) { return x->begin < y->begin; });
    size_t next = 0;
    for (uint64_t row = device_.allocation_begin; row < device_.allocation_end; ++row) {
      Step first = a.first_step[row], last = a.last_step[row];
      for (; next < known.size() && known[next].first <= first; ++next) {
        closeUntil(known[next].first);
        open(known[next].begin, known[next].end, known[next].last);
      }
      closeUntil(first);
      uint64_t begin = a.address[row], end = endOf(begin, a.block_bytes[row]);
      if (end <= begin) continue;
      last = std::min(last, finalBegin(begin, finals));
      if (first >= last || overlaps(begin, end)) continue;
      Piece piece;
      piece.begin = begin;
      piece.end = end;
      piece.first = first;
      piece.last = last;
      piece.proven = true;
      piece.lost = !(isOlder(a.provenance[row]) && first == 0);
      piece.stream = a.stream[row];
      piece.pool = a.pool[row];
      pieces_.push_back(piece);
      open(begin, end, last);
    }
  }

  void findSegments() {
    Allocations& a = trace_.allocations;
    OwnedRanges owned(trace_, device_);
    for (uint64_t row = device_.allocation_begin; row < device_.allocation_end; ++row) {
      owned.advanceTo(a.first_step[row]);
      a.segment[row] = owned.find(a.address[row]);
      if (!a.pool[row].valid() && a.segment[row].valid()) {
        a.pool[row] = trace_.segments.pool[a.segment[row].index()];
      }
    }
  }

  Trace& trace_;
  Device& device_;
  Step steps_;
  std::map<uint64_t, Touch> touched_;  // by address
  std::vector<Piece> pieces_;
  std::map<uint64_t, Open> open_;  // pieces at the current step, by their begin
  std::priority_queue<std::pair<Step, uint64_t>, std::vector<std::pair<Step, uint64_t>>,
                      std::greater<>>
      ends_;
};

}  // namespace

void drawProvenSegments(Trace& trace, Device& device) { ProvenSegments(trace, device).run(); }

}  // namespace tidegauge::model
