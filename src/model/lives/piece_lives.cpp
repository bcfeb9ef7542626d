#include "model/lives/piece_lives.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "model/lives/blocks/gaps.h"
#include "model/lives/other_events.h"
#include "model/lives/segment_rows.h"

namespace tidegauge::model {
namespace {

// The step at which the last life of each address ended. Ends arrive in order of time, so a newer
// one overwrites the older. Amortised O(log n).
class LastEnds {
 public:
  void paint(uint64_t begin, uint64_t end, Step step) {
    cut(begin);
    cut(end);
    ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(end));
    ranges_.emplace(begin, Range{end, step});
  }
  // The latest end inside [begin, end), or kNoStep if nothing ended there.
  Step latest(uint64_t begin, uint64_t end) const {
    Step latest = kNoStep;
    auto it = ranges_.upper_bound(begin);
    if (it != ranges_.begin()) --it;
    for (; it != ranges_.end() && it->first < end; ++it) {
      if (it->second.end <= begin) continue;
      latest = latest == kNoStep ? it->second.step : std::max(latest, it->second.step);
    }
    return latest;
  }

 private:
  struct Range {
    uint64_t end;
    Step step;
  };
  void cut(uint64_t address) {
    auto it = ranges_.lower_bound(address);
    if (it == ranges_.begin()) return;
    --it;
    if (it->second.end <= address) return;
    ranges_.emplace(address, it->second);
    it->second.end = address;
  }
  std::map<uint64_t, Range> ranges_;  // by begin, disjoint
};

class PieceBuilder {
 public:
  PieceBuilder(Trace& trace, Device& device) : trace_(trace), device_(device) {}

  void run() {
    forEachOther(trace_.events, device_, [&](uint64_t event) {
      readEvent(static_cast<Step>(event - device_.event_begin));
    });
    joinFinalState();
    writeSegmentRows(trace_, device_, closed_);
  }

 private:
  void readEvent(Step step) {
    const Events& events = trace_.events;
    size_t row = device_.event_begin + step;
    Action action = events.action[row];
    bool gives = action == Action::kSegmentAlloc || action == Action::kSegmentMap;
    bool takes = action == Action::kSegmentFree || action == Action::kSegmentUnmap;
    if (!gives && !takes) return;
    Piece piece;
    piece.begin = events.address[row];
    piece.end = piece.begin + events.size_bytes[row];
    if (piece.end <= piece.begin) {
      contradiction(step, 0);
      return;
    }
    piece.expandable = action == Action::kSegmentMap || action == Action::kSegmentUnmap;
    piece.stack = events.stack[row];
    piece.stream = events.stream[row];
    if (!events.pool.empty()) piece.pool = events.pool[row];
    if (gives) {
      piece.first = step;
      piece.born_in_trace = true;
      // The end of anything still live under the new range was not recorded.
      closeOverlap(piece.begin, piece.end, step, /*expected=*/false);
      live_.emplace(piece.begin, piece);
    } else {
      size_t closed_before = closed_.size();
      uint64_t known = closeOverlap(piece.begin, piece.end, step, /*expected=*/true);
      if (known < piece.end - piece.begin) addOlder(piece, step, closed_before);
    }
  }

  // Ends the lives inside [begin, end) at `step`, and cuts pieces that reach outside. Returns the
  // ended bytes.
  uint64_t closeOverlap(uint64_t begin, uint64_t end, Step step, bool expected) {
    uint64_t closed_bytes = 0, odd_bytes = 0;
    auto it = live_.upper_bound(begin);
    if (it != live_.begin()) --it;
    while (it != live_.end() && it->second.begin < end) {
      Piece piece = it->second;
      if (piece.end <= begin) {
        ++it;
        continue;
      }
      it = live_.erase(it);
      Piece inside = piece;
      // An ordinary segment goes as a whole.
      bool whole = !piece.expandable && !expected && device_.missing.has(Action::kSegmentFree);
      if (!whole) {
        inside.begin = std::max(piece.begin, begin);
        inside.end = std::min(piece.end, end);
      }
      Step gap = expected ? kNoStep : lastGap(device_, piece.first + 1, step);
      inside.last = gap == kNoStep ? step : gap;
      inside.lost |= !expected;
      inside.ended_by_event = expected;
      closed_bytes += inside.end - inside.begin;
      if (gap == kNoStep) odd_bytes += inside.end - inside.begin;
      close(inside);
      if (piece.begin < inside.begin) {
        Piece left = piece;
        left.end = begin;
        live_.emplace(left.begin, left);
      }
      if (piece.end > inside.end) {
        Piece right = piece;
        right.begin = end;
        it = live_.emplace(right.begin, right).first;
        ++it;
      }
    }
    if (!expected && odd_bytes > 0) contradiction(step, odd_bytes);
    return closed_bytes;
  }

  // The parts of a freed or unmapped range without an allocating event: older than the recording,
  // unless an earlier life at that place has ended (then the allocating event was lost).
  // `closed_before` = closed_.size() before the range was closed: later entries lie inside the
  // range, in address order.
  void addOlder(Piece piece, Step step, size_t closed_before) {
    piece.last = step;
    piece.ended_by_event = true;
    uint64_t at = piece.begin;
    size_t closed_after = closed_.size();
    auto addPart = [&](uint64_t end) {
      if (at >= end) return;
      Piece part = piece;
      part.begin = at;
      part.end = end;
      placeAfterEarlierLives(part);
      close(part);
    };
    for (size_t i = closed_before; i < closed_after; ++i) {
      uint64_t next = closed_[i].end;
      addPart(closed_[i].begin);
      at = next;
    }
    addPart(piece.end);
  }

  void close(const Piece& piece) { closed_.push_back(piece); }

  // Most files never ask, so ends are painted when one does.
  Step latestEnd(uint64_t begin, uint64_t end) {
    for (; painted_ < closed_.size(); ++painted_) {
      const Piece& piece = closed_[painted_];
      ended_.paint(piece.begin, piece.end, piece.last);
    }
    return ended_.latest(begin, end);
  }

  // A piece without a beginning starts at 0 (it existed before the first event), or after the last
  // life that overlaps it. Not at 0 then, since that life existed before it.
  void placeAfterEarlierLives(Piece& part) {
    Step ended = latestEnd(part.begin, part.end);
    if (ended == kNoStep) return;
    Step gap = firstGap(device_, ended, part.last);
    part.first = std::max<Step>(gap == kNoStep ? ended : gap, 1);
    part.lost = true;
    if (gap == kNoStep) contradiction(part.first, part.end - part.begin);
  }

  void joinFinalState() {
    const FinalSegments& finals = trace_.final_segments;
    Step end_step = device_.steps();
    std::vector<uint64_t> order(device_.final_segment_end - device_.final_segment_begin);
    std::iota(order.begin(), order.end(), device_.final_segment_begin);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint64_t a, uint64_t b) { return finals.address[a] < finals.address[b]; });
    uint64_t reach = 0;  // end of the final segments so far
    for (uint64_t row : order) {
      uint64_t begin = finals.address[row];
      uint64_t end = begin + finals.total_bytes[row];
      if (end <= begin) {
        contradiction(end_step, 0);
        continue;
      }
      if (begin < reach) {  // two final segments at one place: the lower one owns it
        contradiction(end_step, std::min(end, reach) - begin);
        begin = reach;
        if (end <= begin) continue;
      }
      reach = end;
      // Cuts live pieces at the borders of the final segment, and marks those inside.
      cutAt(begin);
      cutAt(end);
      uint64_t at = begin;
      auto it = live_.lower_bound(begin);
      while (it != live_.end() && it->first < end) {
        if (it->second.begin > at) addGhost(row, at, it->second.begin);
        it->second.final_segment = static_cast<uint32_t>(row);
        at = it->second.end;
        ++it;
      }
      if (at < end) addGhost(row, at, end);
    }
    for (auto& [begin, piece] : live_) {
      piece.last = end_step;
      if (piece.final_segment == UINT32_MAX) {
        piece.lost = true;
        piece.last = endOfGone(piece);
        if (piece.last == end_step) contradiction(piece.first, piece.end - piece.begin);
      } else {
        piece.pool = finals.pool[piece.final_segment];
        piece.expandable = finals.kind[piece.final_segment] == SegmentKind::kExpandable;
      }
      closed_.push_back(piece);
    }
    live_.clear();
  }

  // When a piece ended that the final state lacks: in a gap, before the end if such events are not
  // recorded, else at the end.
  Step endOfGone(const Piece& piece) const {
    Step gap = lastGap(device_, piece.first + 1, device_.steps());
    if (gap != kNoStep) return gap;
    bool unrecorded =
        device_.missing.has(Action::kSegmentFree) && piece.first + 1 < device_.steps();
    return unrecorded ? device_.steps() - 1 : device_.steps();
  }

  void cutAt(uint64_t address) {
    auto it = live_.upper_bound(address);
    if (it == live_.begin()) return;
    --it;
    Piece& piece = it->second;
    if (piece.begin >= address || piece.end <= address) return;
    Piece right = piece;
    right.begin = address;
    piece.end = address;
    live_.emplace(address, right);
  }

  void addGhost(uint64_t row, uint64_t begin, uint64_t end) {
    const FinalSegments& finals = trace_.final_segments;
    Piece ghost;
    ghost.begin = begin;
    ghost.end = end;
    ghost.last = device_.steps();
    ghost.expandable = finals.kind[row] == SegmentKind::kExpandable;
    ghost.stack = finals.stack[row];
    ghost.stream = finals.stream[row];
    ghost.pool = finals.pool[row];
    ghost.final_segment = static_cast<uint32_t>(row);
    placeAfterEarlierLives(ghost);
    live_.emplace(begin, ghost);
  }

  void contradiction(Step step, uint64_t bytes) {
    if (device_.missing.has(Action::kSegmentFree)) return;  // explained
    trace_.note(device_, IssueKind::kSegmentContradiction, step, bytes);
  }

  Trace& trace_;
  Device& device_;
  std::map<uint64_t, Piece> live_;
  std::vector<Piece> closed_;
  LastEnds ended_;
  size_t painted_ = 0;  // of closed_
};

}  // namespace

void buildPieceLives(Trace& trace, Device& device) { PieceBuilder(trace, device).run(); }

}  // namespace tidegauge::model
