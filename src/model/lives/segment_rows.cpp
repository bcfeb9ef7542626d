#include "model/lives/segment_rows.h"

#include <algorithm>
#include <span>
#include <utility>

#include "model/recorded_work.h"

namespace tidegauge::model {
namespace {

class SegmentRows {
 public:
  SegmentRows(Trace& trace, Device& device, const std::vector<Piece>& pieces)
      : trace_(trace), device_(device), pieces_(pieces) {}

  // Groups pieces into segments. Ordinary: one row per piece. Expandable, and those that blocks
  // prove: pieces whose ranges ever
  // touch are in one reservation of addresses; one row per period in which any of it is mapped.
  void run() {
    sortByPlace();
    device_.segment_begin = trace_.segments.size();
    device_.piece_begin = trace_.pieces.size();
    lives_.reserve(order_.size());
    for (size_t begin = 0, end = 0; begin < order_.size(); begin = end) {
      end = begin + 1;
      const Piece& head = pieces_[order_[begin]];
      if (!head.expandable && !head.proven) {
        lives_.push_back({head.first, head.begin, begin, end});
        continue;
      }
      uint64_t reach = head.end;
      for (; end < order_.size(); ++end) {
        const Piece& piece = pieces_[order_[end]];
        bool joins = (piece.expandable || piece.proven) && piece.begin <= reach &&
                     isAlike(order_[begin], piece);
        if (!joins) break;
        reach = std::max(reach, piece.end);
      }
      splitByTime(begin, end);
    }
    std::sort(lives_.begin(), lives_.end(), [](const Life& a, const Life& b) {
      return std::pair(a.first, a.address) < std::pair(b.first, b.address);
    });
    reserve();
    for (const Life& life : lives_)
      writeSegment(std::span(order_).subspan(life.begin, life.end - life.begin));
    device_.segment_end = trace_.segments.size();
    device_.piece_end = trace_.pieces.size();
  }

 private:
  bool isAlike(uint32_t first, const Piece& piece) const {
    return pieces_[first].stream == piece.stream && pieces_[first].proven == piece.proven;
  }

  // The pieces of one segment: order_[begin, end).
  struct Life {
    Step first = 0;
    uint64_t address = 0;
    size_t begin = 0, end = 0;
  };

  // Keys beside each other are sorted in half the time.
  void sortByPlace() {
    struct Key {
      uint64_t address;
      Step first;
      uint32_t index;
    };
    std::vector<Key> keys;
    keys.reserve(pieces_.size());
    for (uint32_t i = 0; i < pieces_.size(); ++i)
      keys.push_back({pieces_[i].begin, pieces_[i].first, i});
    std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
      return std::pair(a.address, a.first) < std::pair(b.address, b.first);
    });
    order_.reserve(keys.size());
    for (const Key& key : keys) order_.push_back(key.index);
  }

  // Cuts a group (sorted by first step here) at times when nothing of it is mapped.
  void splitByTime(size_t begin, size_t end) {
    std::sort(order_.begin() + static_cast<ptrdiff_t>(begin),
              order_.begin() + static_cast<ptrdiff_t>(end), [&](uint32_t a, uint32_t b) {
                return std::pair(pieces_[a].first, pieces_[a].begin) <
                       std::pair(pieces_[b].first, pieces_[b].begin);
              });
    Step reach = 0;
    for (size_t i = begin; i < end; ++i) {
      const Piece& piece = pieces_[order_[i]];
      if (i == begin || piece.first > reach) {
        lives_.push_back({piece.first, piece.begin, i, i});
        reach = 0;
      }
      lives_.back().end = i + 1;
      reach = std::max(reach, piece.last);
    }
  }

  void reserve() {
    Segments& segments = trace_.segments;
    size_t count = segments.size() + lives_.size();
    segments.address.reserve(count);
    segments.total_bytes.reserve(count);
    segments.kind.reserve(count);
    segments.stack.reserve(count);
    segments.first_step.reserve(count);
    segments.last_step.reserve(count);
    segments.stream.reserve(count);
    segments.pool.reserve(count);
    segments.provenance.reserve(count);
    Pieces& pieces = trace_.pieces;
    count = pieces.size() + pieces_.size();
    pieces.segment.reserve(count);
    pieces.address.reserve(count);
    pieces.size_bytes.reserve(count);
    pieces.first_step.reserve(count);
    pieces.last_step.reserve(count);
  }

  // Pieces from before the first event come first; at one step, ends come before beginnings.
  struct Edge {
    uint64_t when;
    bool begins;
    uint64_t bytes;
  };

  // The most bytes at one time.
  static uint64_t mostOf(std::vector<Edge>& edges) {
    std::sort(edges.begin(), edges.end(),
              [](const Edge& a, const Edge& b) { return a.when < b.when; });
    uint64_t mapped = 0;
    uint64_t most = 0;
    for (const Edge& edge : edges) {
      mapped = edge.begins ? mapped + edge.bytes : mapped - edge.bytes;
      if (edge.begins) most = std::max(most, mapped);
    }
    return most;
  }

  void writeSegment(std::span<const uint32_t> life) {
    Segments& segments = trace_.segments;
    SegmentId id(static_cast<uint32_t>(segments.size()));
    const Piece& head = pieces_[life.front()];
    uint64_t lowest = head.begin;
    Step last = 0;
    PoolId pool;
    bool lost = false;
    bool in_final = false;
    bool all_large_pages = true;
    uint32_t final_row = UINT32_MAX;
    std::vector<Edge>& edges = edges_;
    edges.clear();
    for (uint32_t index : life) {
      const Piece& piece = pieces_[index];
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
    uint64_t most = life.size() == 1 ? head.end - head.begin : mostOf(edges);

    // Pages of the large pool are 20 MiB; ordinary segments of the small pool are 2 MiB.
    bool small = head.expandable ? !all_large_pages : most <= uint64_t{2} << 20;
    if (final_row != UINT32_MAX) small = trace_.final_segments.small_pool[final_row];
    SegmentKind kind = head.expandable ? SegmentKind::kExpandable
                       : small         ? SegmentKind::kSmall
                                       : SegmentKind::kLarge;
    if (isAtLeast(trace_, device_.ordinal) && final_row != UINT32_MAX &&
        trace_.final_segments.kind[final_row] == SegmentKind::kUnknown) {
      kind = SegmentKind::kUnknown;  // an older one that only its blocks prove
    }
    if (head.proven) kind = SegmentKind::kUnknown;
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

  void linkEvents(std::span<const uint32_t> life, SegmentId id) {
    auto link = [&](Step step) {
      if (step < device_.steps()) trace_.events.subject[device_.event_begin + step] = id.value;
    };
    for (uint32_t index : life) {
      const Piece& piece = pieces_[index];
      if (piece.born_in_trace) link(piece.first);
      if (piece.ended_by_event) link(piece.last);
    }
  }

  Trace& trace_;
  Device& device_;
  const std::vector<Piece>& pieces_;
  std::vector<uint32_t> order_;  // of the pieces; those of one segment are beside each other
  std::vector<Life> lives_;
  std::vector<Edge> edges_;  // of the segment at hand
};

}  // namespace

void writeSegmentRows(Trace& trace, Device& device, const std::vector<Piece>& pieces) {
  SegmentRows(trace, device, pieces).run();
}

}  // namespace tidegauge::model
