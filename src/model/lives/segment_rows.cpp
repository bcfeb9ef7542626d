#include "model/lives/segment_rows.h"

#include <algorithm>
#include <numeric>

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
    std::vector<uint32_t> order(pieces_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(pieces_[a].begin, pieces_[a].first) <
             std::pair(pieces_[b].begin, pieces_[b].first);
    });
    device_.segment_begin = trace_.segments.size();
    device_.piece_begin = trace_.pieces.size();
    std::vector<std::vector<uint32_t>> groups;
    uint64_t reach = 0;
    bool open = false;
    for (uint32_t index : order) {
      const Piece& piece = pieces_[index];
      if (!piece.expandable && !piece.proven) {
        groups.push_back({index});
        open = false;
        continue;
      }
      bool joins = open && piece.begin <= reach && isAlike(groups.back().front(), piece);
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
      const Piece& pa = pieces_[a.front()];
      const Piece& pb = pieces_[b.front()];
      return std::pair(pa.first, pa.begin) < std::pair(pb.first, pb.begin);
    });
    for (const std::vector<uint32_t>& life : lives) writeSegment(life);
    device_.segment_end = trace_.segments.size();
    device_.piece_end = trace_.pieces.size();
  }

 private:
  bool isAlike(uint32_t first, const Piece& piece) const {
    return pieces_[first].stream == piece.stream && pieces_[first].proven == piece.proven;
  }

  // Cuts a group (sorted by first step here) at times when nothing of it is mapped.
  void splitByTime(std::vector<uint32_t>& group, std::vector<std::vector<uint32_t>>& lives) {
    std::sort(group.begin(), group.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(pieces_[a].first, pieces_[a].begin) <
             std::pair(pieces_[b].first, pieces_[b].begin);
    });
    Step reach = 0;
    for (uint32_t index : group) {
      const Piece& piece = pieces_[index];
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
    const Piece& head = pieces_[life.front()];
    uint64_t lowest = head.begin;
    Step last = 0;
    PoolId pool;
    bool lost = false;
    bool in_final = false;
    bool all_large_pages = true;
    uint32_t final_row = UINT32_MAX;
    // Pieces from before the first event come first; at one step, ends come before beginnings.
    struct Edge {
      uint64_t when;
      bool begins;
      uint64_t bytes;
    };
    std::vector<Edge> edges;
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

  void linkEvents(const std::vector<uint32_t>& life, SegmentId id) {
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
};

}  // namespace

void writeSegmentRows(Trace& trace, Device& device, const std::vector<Piece>& pieces) {
  SegmentRows(trace, device, pieces).run();
}

}  // namespace tidegauge::model
