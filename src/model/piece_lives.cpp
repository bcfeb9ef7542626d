#include "model/piece_lives.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tidegauge::model {
namespace {

// Pieces of one device while its segment events are read forwards.
struct Piece {
  uint64_t begin = 0;
  uint64_t end = 0;
  Step first = 0;
  Step last = 0;
  bool expandable = false;
  bool born_in_trace = false;
  bool lost = false;
  bool ended_by_event = false;
  StackId stack;
  StreamId stream;
  PoolId pool;
  uint32_t final_segment = UINT32_MAX;  // row of the final segment that holds it, if any
};

// For each address the step at which the last life there ended. Ends arrive in order of time, so a
// newer one paints over the older. Amortised O(log n).
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
    for (Step step = 0; step < device_.steps(); ++step) readEvent(step);
    joinFinalState();
    writeRows();
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
      // Whatever is still there under the new range must have gone unseen.
      closeOverlap(piece.begin, piece.end, step, /*expected=*/false);
      live_.emplace(piece.begin, piece);
    } else {
      size_t closed_before = closed_.size();
      uint64_t known = closeOverlap(piece.begin, piece.end, step, /*expected=*/true);
      if (known < piece.end - piece.begin) addOlder(piece, step, closed_before);
    }
  }

  // Ends the lives inside [begin, end) at `step`, cutting pieces that stick out. Returns the bytes
  // ended.
  uint64_t closeOverlap(uint64_t begin, uint64_t end, Step step, bool expected) {
    uint64_t closed_bytes = 0;
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
      inside.begin = std::max(piece.begin, begin);
      inside.end = std::min(piece.end, end);
      inside.last = step;
      inside.lost |= !expected;
      inside.ended_by_event = expected;
      closed_bytes += inside.end - inside.begin;
      close(inside);
      if (piece.begin < begin) {
        Piece left = piece;
        left.end = begin;
        live_.emplace(left.begin, left);
      }
      if (piece.end > end) {
        Piece right = piece;
        right.begin = end;
        it = live_.emplace(right.begin, right).first;
        ++it;
      }
    }
    if (!expected && closed_bytes > 0) contradiction(step, closed_bytes);
    return closed_bytes;
  }

  // The parts of a freed or unmapped range that no event had given: older than the recording,
  // unless an earlier life at that place has already ended (then the event that gave them was
  // lost). `closed_before` = closed_.size() before the range was closed: what was added since lies
  // inside the range, in address order.
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

  void close(const Piece& piece) {
    closed_.push_back(piece);
    ended_.paint(piece.begin, piece.end, piece.last);
  }

  // A piece without a beginning starts at 0 (it was there before the first event), or after the
  // last life that overlaps it: never at 0 then, for that life was there before it.
  void placeAfterEarlierLives(Piece& part) {
    Step ended = ended_.latest(part.begin, part.end);
    if (ended == kNoStep) return;
    part.first = std::max<Step>(ended, 1);
    part.lost = true;
    contradiction(part.first, part.end - part.begin);
  }

  void joinFinalState() {
    const FinalSegments& finals = trace_.final_segments;
    Step end_step = device_.steps();
    std::vector<uint64_t> order(device_.final_segment_end - device_.final_segment_begin);
    std::iota(order.begin(), order.end(), device_.final_segment_begin);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint64_t a, uint64_t b) { return finals.address[a] < finals.address[b]; });
    uint64_t reach = 0;  // no final segment so far lies beyond it
    for (uint64_t row : order) {
      uint64_t begin = finals.address[row];
      uint64_t end = begin + finals.total_bytes[row];
      if (end <= begin) {
        contradiction(end_step, 0);
        continue;
      }
      if (begin < reach) {  // two final segments at one place: the lower one has it
        contradiction(end_step, std::min(end, reach) - begin);
        begin = reach;
        if (end <= begin) continue;
      }
      reach = end;
      // Cut live pieces at the borders of the final segment, mark what lies inside.
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
        contradiction(piece.first, piece.end - piece.begin);
      } else {
        piece.pool = finals.pool[piece.final_segment];
        piece.expandable = finals.kind[piece.final_segment] == SegmentKind::kExpandable;
      }
      closed_.push_back(piece);
    }
    live_.clear();
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

  // Groups pieces into segments. Ordinary: a row per piece. Expandable: pieces whose ranges touch
  // at any time lie in one reservation of addresses; one row per time that any of it is mapped.
  void writeRows() {
    std::vector<uint32_t> order(closed_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(closed_[a].begin, closed_[a].first) <
             std::pair(closed_[b].begin, closed_[b].first);
    });
    device_.segment_begin = trace_.segments.size();
    device_.piece_begin = trace_.pieces.size();
    std::vector<std::vector<uint32_t>> groups;
    uint64_t reach = 0;
    bool open = false;
    for (uint32_t index : order) {
      const Piece& piece = closed_[index];
      if (!piece.expandable) {
        groups.push_back({index});
        open = false;
        continue;
      }
      bool joins =
          open && piece.begin <= reach && closed_[groups.back().front()].stream == piece.stream;
      if (!joins) {
        groups.emplace_back();
        reach = 0;
      }
      groups.back().push_back(index);
      reach = std::max(reach, piece.end);
      open = true;
    }
    std::vector<std::vector<uint32_t>> lives;
    for (std::vector<uint32_t>& group : groups) splitByTime(group, lives);
    std::sort(lives.begin(), lives.end(), [&](const auto& a, const auto& b) {
      const Piece& pa = closed_[a.front()];
      const Piece& pb = closed_[b.front()];
      return std::pair(pa.first, pa.begin) < std::pair(pb.first, pb.begin);
    });
    for (const std::vector<uint32_t>& life : lives) writeSegment(life);
    device_.segment_end = trace_.segments.size();
    device_.piece_end = trace_.pieces.size();
  }

  // Cuts a group (sorted by first step here) where nothing of it is mapped for a while.
  void splitByTime(std::vector<uint32_t>& group, std::vector<std::vector<uint32_t>>& lives) {
    std::sort(group.begin(), group.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(closed_[a].first, closed_[a].begin) <
             std::pair(closed_[b].first, closed_[b].begin);
    });
    Step reach = 0;
    for (uint32_t index : group) {
      const Piece& piece = closed_[index];
      if (lives.empty() || index == group.front() || piece.first > reach) {
        lives.emplace_back();
        reach = 0;
      }
      lives.back().push_back(index);
      reach = std::max(reach, piece.last);
    }
  }

  void writeSegment(const std::vector<uint32_t>& life) {
    Segments& segments = trace_.segments;
    SegmentId id(static_cast<uint32_t>(segments.size()));
    const Piece& head = closed_[life.front()];
    uint64_t lowest = head.begin;
    Step last = 0;
    PoolId pool;
    bool lost = false;
    bool in_final = false;
    bool all_large_pages = true;
    uint32_t final_row = UINT32_MAX;
    // What was there before the first event comes first; at one step, what goes comes before what
    // comes.
    struct Edge {
      uint64_t when;
      bool begins;
      uint64_t bytes;
    };
    std::vector<Edge> edges;
    for (uint32_t index : life) {
      const Piece& piece = closed_[index];
      lowest = std::min(lowest, piece.begin);
      last = std::max(last, piece.last);
      all_large_pages &= (piece.end - piece.begin) % (uint64_t{20} << 20) == 0;
      lost |= piece.lost;
      if (piece.pool.valid()) pool = piece.pool;
      if (piece.final_segment != UINT32_MAX) {
        in_final = true;
        final_row = piece.final_segment;
        trace_.final_segments.segment[final_row] = id;
      }
      uint64_t bytes = piece.end - piece.begin;
      bool older = !piece.born_in_trace && !piece.lost;
      uint64_t begin = older ? 0 : 2 * uint64_t{piece.first} + 2;
      edges.push_back({begin, true, bytes});
      edges.push_back({std::max(2 * uint64_t{piece.last} + 1, begin + 1), false, bytes});
      trace_.pieces.segment.push_back(id);
      trace_.pieces.address.push_back(piece.begin);
      trace_.pieces.size_bytes.push_back(piece.end - piece.begin);
      trace_.pieces.first_step.push_back(piece.first);
      trace_.pieces.last_step.push_back(piece.last);
    }
    std::sort(edges.begin(), edges.end(),
              [](const Edge& a, const Edge& b) { return a.when < b.when; });
    uint64_t mapped = 0;
    uint64_t most = 0;
    for (const Edge& edge : edges) {
      mapped = edge.begins ? mapped + edge.bytes : mapped - edge.bytes;
      if (edge.begins) most = std::max(most, mapped);
    }

    // Pages of the large pool are 20 MiB; ordinary segments of the small pool are 2 MiB.
    bool small = head.expandable ? !all_large_pages : most <= uint64_t{2} << 20;
    if (final_row != UINT32_MAX) small = trace_.final_segments.small_pool[final_row];
    SegmentKind kind = head.expandable ? SegmentKind::kExpandable
                       : small         ? SegmentKind::kSmall
                                       : SegmentKind::kLarge;
    Provenance provenance = lost                 ? Provenance::kLost
                            : head.born_in_trace ? Provenance::kTraced
                            : in_final           ? Provenance::kGhost
                                                 : Provenance::kBeforeRecording;
    segments.address.push_back(lowest);
    segments.total_bytes.push_back(most);
    segments.kind.push_back(kind);
    segments.stack.push_back(head.stack);
    segments.first_step.push_back(head.first);
    segments.last_step.push_back(last);
    segments.stream.push_back(head.stream);
    segments.pool.push_back(pool);
    segments.provenance.push_back(provenance);
    segments.small_pool.push_back(small);
    linkEvents(life, id);
  }

  void linkEvents(const std::vector<uint32_t>& life, SegmentId id) {
    auto link = [&](Step step) {
      if (step < device_.steps()) trace_.events.subject[device_.event_begin + step] = id.value;
    };
    for (uint32_t index : life) {
      const Piece& piece = closed_[index];
      if (piece.born_in_trace) link(piece.first);
      if (piece.ended_by_event) link(piece.last);
    }
  }

  void contradiction(Step step, uint64_t bytes) {
    trace_.note(device_, IssueKind::kSegmentContradiction, step, bytes);
  }

  Trace& trace_;
  Device& device_;
  std::map<uint64_t, Piece> live_;
  std::vector<Piece> closed_;
  LastEnds ended_;
};

}  // namespace

void buildPieceLives(Trace& trace, Device& device) { PieceBuilder(trace, device).run(); }

OwnedRanges::OwnedRanges(const Trace& trace, const Device& device) : trace_(trace) {
  const Pieces& pieces = trace.pieces;
  for (uint64_t row = device.piece_begin; row < device.piece_end; ++row) {
    // A range that the very first event takes away is never owned after a step.
    if (pieces.first_step[row] < pieces.last_step[row]) {
      starts_.push_back(static_cast<uint32_t>(row));
    }
  }
  ends_ = starts_;
  std::sort(starts_.begin(), starts_.end(),
            [&](uint32_t a, uint32_t b) { return pieces.first_step[a] < pieces.first_step[b]; });
  std::sort(ends_.begin(), ends_.end(),
            [&](uint32_t a, uint32_t b) { return pieces.last_step[a] < pieces.last_step[b]; });
}

void OwnedRanges::advanceTo(Step step) {
  const Pieces& pieces = trace_.pieces;
  while (true) {
    bool more_starts =
        next_start_ < starts_.size() && pieces.first_step[starts_[next_start_]] <= step;
    bool more_ends = next_end_ < ends_.size() && pieces.last_step[ends_[next_end_]] <= step;
    if (!more_starts && !more_ends) return;
    // At one step, what goes comes first: a range may be given again at once.
    bool end_first = more_ends && (!more_starts || pieces.last_step[ends_[next_end_]] <=
                                                       pieces.first_step[starts_[next_start_]]);
    if (end_first) {
      erase(ends_[next_end_++]);
    } else {
      insert(starts_[next_start_++]);
    }
  }
}

void OwnedRanges::insert(uint32_t piece) {
  uint64_t begin = trace_.pieces.address[piece];
  live_.insert({begin, begin + trace_.pieces.size_bytes[piece], trace_.pieces.segment[piece]});
  last_hit_ = {};
}

void OwnedRanges::erase(uint32_t piece) {
  uint64_t begin = trace_.pieces.address[piece];
  for (auto at = live_.lowerBound(begin); at != live_.end() && live_.at(at).begin == begin;
       at = live_.next(at)) {
    if (live_.at(at).segment == trace_.pieces.segment[piece]) {
      live_.erase(at);
      last_hit_ = {};
      return;
    }
  }
}

SegmentId OwnedRanges::find(uint64_t address) const {
  auto holds = [&](const Range& range) { return range.begin <= address && address < range.end; };
  if (holds(last_hit_)) return last_hit_.segment;
  auto at = live_.lowerBound(address);
  if (at == live_.end() || live_.at(at).begin != address) at = live_.previous(at);
  if (at == live_.end() || !holds(live_.at(at))) return {};
  last_hit_ = live_.at(at);
  return last_hit_.segment;
}

}  // namespace tidegauge::model
