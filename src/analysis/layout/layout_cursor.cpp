#include "analysis/layout/layout_cursor.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tidegauge::analysis {
namespace {

bool byPlace(const LiveBlock& x, const LiveBlock& y) {
  return std::tie(x.address, x.row) < std::tie(y.address, y.row);
}

}  // namespace

LayoutCursor::LayoutCursor(const model::Trace& trace, const model::Device& device,
                           const LiveIndex& live)
    : trace_(trace), device_(device), live_(live) {
  piece_order_.resize(device.piece_end - device.piece_begin);
  std::iota(piece_order_.begin(), piece_order_.end(), static_cast<uint32_t>(device.piece_begin));
  std::stable_sort(piece_order_.begin(), piece_order_.end(), [&](uint32_t x, uint32_t y) {
    return trace.pieces.first_step[x] < trace.pieces.first_step[y];
  });
}

LiveBlock LayoutCursor::blockOf(uint32_t row) const {
  const model::Allocations& a = trace_.allocations;
  return {a.address[row], a.block_bytes[row], a.requested_bytes[row], row, a.last_step[row]};
}

void LayoutCursor::advanceTo(Step step) {
  if (device_.steps() > 0) step = std::min(step, device_.steps() - 1);
  if (!started_) {
    start(step);
  } else if (step > step_) {
    moveBlocks(step);
  } else {
    return;
  }
  movePieces(step);
  step_ = step;
}

void LayoutCursor::start(Step step) {
  for (uint32_t row : live_.liveAt(step)) blocks_.push_back(blockOf(row));
  std::sort(blocks_.begin(), blocks_.end(), byPlace);
  started_ = true;
}

void LayoutCursor::moveBlocks(Step step) {
  const model::Allocations& a = trace_.allocations;
  born_.clear();
  auto [row, end] = live_.bornIn(step_ + 1, step + 1);
  for (; row < end; ++row) {
    if (a.last_step[row] > step) born_.push_back(blockOf(static_cast<uint32_t>(row)));
  }
  std::sort(born_.begin(), born_.end(), byPlace);
  merged_.clear();
  size_t next = 0;
  for (const LiveBlock& block : blocks_) {
    if (block.last_step <= step) continue;
    while (next < born_.size() && byPlace(born_[next], block)) merged_.push_back(born_[next++]);
    merged_.push_back(block);
  }
  merged_.insert(merged_.end(), born_.begin() + static_cast<ptrdiff_t>(next), born_.end());
  blocks_.swap(merged_);
}

void LayoutCursor::movePieces(Step step) {
  const model::Pieces& p = trace_.pieces;
  bool timeless = device_.steps() == 0;
  auto begins = [&](uint32_t row) { return timeless || p.first_step[row] <= step; };
  bool begun = next_piece_ < piece_order_.size() && begins(piece_order_[next_piece_]);
  if (!begun && (pieces_.empty() || step < next_piece_end_)) return;
  if (!timeless)
    std::erase_if(pieces_, [&](const Piece& piece) { return piece.last_step <= step; });
  for (; next_piece_ < piece_order_.size() && begins(piece_order_[next_piece_]); ++next_piece_) {
    uint32_t row = piece_order_[next_piece_];
    if (!timeless && p.last_step[row] <= step) continue;
    uint64_t begin = p.address[row];
    uint64_t end = begin + std::min(p.size_bytes[row], UINT64_MAX - begin);
    pieces_.push_back({begin, end, p.segment[row], p.last_step[row]});
  }
  // Few blocks move at a time, so most of the list is sorted already.
  std::sort(pieces_.begin(), pieces_.end(),
            [](const Piece& x, const Piece& y) { return x.begin < y.begin; });
  join();
}

void LayoutCursor::join() {
  owned_.clear();
  next_piece_end_ = model::kNoStep;
  for (const Piece& piece : pieces_) {
    next_piece_end_ = std::min(next_piece_end_, piece.last_step);
    if (!owned_.empty() && owned_.back().end == piece.begin &&
        owned_.back().segment == piece.segment) {
      owned_.back().end = piece.end;
    } else {
      owned_.push_back({piece.begin, piece.end, piece.segment});
    }
  }
}

}  // namespace tidegauge::analysis
