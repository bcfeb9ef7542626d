#include <algorithm>
#include <bit>

#include "model/lives/blocks/older_blocks.h"

namespace tidegauge::model {
namespace {

// values[i] = the largest value raised on a range that contains i, 0 if none. O(1) per range, O(n
// log n) at the end (a sparse table filled backwards).
class RangeMaximum {
 public:
  explicit RangeMaximum(size_t size) : levels_(std::bit_width(size), std::vector<Step>(size, 0)) {}

  void raise(size_t begin, size_t end, Step value) {
    if (begin >= end) return;
    size_t level = static_cast<size_t>(std::bit_width(end - begin)) - 1;
    Step& left = levels_[level][begin];
    Step& right = levels_[level][end - (size_t{1} << level)];
    left = std::max(left, value);
    right = std::max(right, value);
  }

  std::vector<Step> values() {
    for (size_t level = levels_.size() - 1; level > 0; --level) {
      size_t half = size_t{1} << (level - 1);
      for (size_t i = 0; i + half < levels_[level].size(); ++i) {
        Step value = levels_[level][i];
        levels_[level - 1][i] = std::max(levels_[level - 1][i], value);
        levels_[level - 1][i + half] = std::max(levels_[level - 1][i + half], value);
      }
    }
    return levels_[0];
  }

 private:
  std::vector<std::vector<Step>> levels_;  // levels_[k][i] covers [i, i + 2^k)
};

}  // namespace

void cutGhosts(Trace& trace, const Device& device, std::vector<OlderBlock>& older_blocks) {
  const Allocations& rows = trace.allocations;
  struct Range {
    uint64_t begin, end;
    uint32_t older;
  };
  std::vector<Range> ghosts;
  for (size_t i = 0; i < older_blocks.size(); ++i) {
    if (older_blocks[i].provenance != Provenance::kGhost) continue;
    ghosts.push_back({older_blocks[i].address,
                      older_blocks[i].address + older_blocks[i].block_bytes,
                      static_cast<uint32_t>(i)});
  }
  if (ghosts.empty()) return;
  std::sort(ghosts.begin(), ghosts.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  RangeMaximum last_inside(ghosts.size());
  auto meet = [&](uint64_t begin, uint64_t end, Step last, Step free_requested) {
    if (last == kNoStep) last = free_requested;
    if (last == kNoStep) return;
    auto by_begin = [](const Range& g, uint64_t address) { return g.begin < address; };
    auto low = std::lower_bound(ghosts.begin(), ghosts.end(), begin, by_begin);
    if (low != ghosts.begin() && (low - 1)->end > begin) --low;
    auto high = std::lower_bound(low, ghosts.end(), end, by_begin);
    last_inside.raise(static_cast<size_t>(low - ghosts.begin()),
                      static_cast<size_t>(high - ghosts.begin()), last + 1);
  };
  for (size_t row = device.allocation_begin; row < rows.size(); ++row) {
    if (rows.flags[row] & kInFinalState) continue;
    meet(rows.address[row], rows.address[row] + rows.requested_bytes[row], rows.last_step[row],
         rows.free_requested_step[row]);
  }
  for (const OlderBlock& older : older_blocks) {
    if (older.flags & kInFinalState) continue;
    meet(older.address, older.address + older.requested_bytes, older.last_step,
         older.free_requested_step);
  }
  std::vector<Step> last = last_inside.values();
  for (size_t i = 0; i < ghosts.size(); ++i) {
    if (last[i] == 0) continue;
    OlderBlock& older = older_blocks[ghosts[i].older];
    older.provenance = Provenance::kLost;
    older.first_step = last[i] - 1;
    if (older.flags & kPendingAtEnd) older.free_requested_step = older.first_step;
    trace.note(device, IssueKind::kFinalBlockOverlaps, older.first_step, older.block_bytes);
  }
}

}  // namespace tidegauge::model
