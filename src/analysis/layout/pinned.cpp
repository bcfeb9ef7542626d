#include "analysis/layout/pinned.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <tuple>

#include "analysis/layout/free_sums.h"

namespace tidegauge::analysis {
namespace {

// One unit after the other: its free bytes, and its live blocks as indices into contents.blocks.
template <class F>
void forEachUnit(const model::Trace& trace, const SegmentContents& contents, F&& f) {
  std::vector<size_t> live;
  uint64_t free_bytes = 0;
  if (!isExpandable(trace, contents.segment)) {
    for (size_t i = 0; i < contents.blocks.size(); ++i) {
      if (isLive(contents.blocks[i])) {
        live.push_back(i);
      } else {
        free_bytes += contents.bytesOf(i);
      }
    }
    f(free_bytes, live);
    return;
  }
  uint64_t base = trace.segments.address[contents.segment.index()];
  uint64_t page_bytes = pageBytes(trace, contents.segment);
  uint64_t page = UINT64_MAX;  // the current unit
  auto moveTo = [&](uint64_t next) {
    if (next == page) return;
    if (free_bytes > 0) f(free_bytes, live);
    free_bytes = 0;
    live.clear();
    page = next;
  };
  for (size_t i = 0; i < contents.blocks.size(); ++i) {
    const LayoutBlock& block = contents.blocks[i];
    uint64_t bytes = contents.bytesOf(i);
    uint64_t begin = block.address - base;
    uint64_t end = begin + bytes;
    if (bytes == 0) continue;  // only in contradictory files
    // Only the first and the last page of a part can contain something else. Those between are
    // entirely live or entirely free.
    uint64_t first_page = begin / page_bytes;
    uint64_t last_page = (end - 1) / page_bytes;
    moveTo(first_page);
    if (isLive(block)) {
      live.push_back(i);
      if (last_page == first_page) continue;
      moveTo(last_page);
      live.push_back(i);
      continue;
    }
    free_bytes += std::min(end, (first_page + 1) * page_bytes) - begin;
    if (last_page == first_page) continue;
    moveTo(last_page);
    free_bytes += end - last_page * page_bytes;
  }
  moveTo(UINT64_MAX);
}

double perLiveByte(const StackPins& pins) {
  return static_cast<double>(pins.pinsBytes()) /
         static_cast<double>(std::max<uint64_t>(pins.block_bytes, 1));
}

class Ranking {
 public:
  explicit Ranking(const model::Trace& trace) : trace_(trace) {}

  void add(const SegmentContents& contents) {
    if (!contents.segment.valid()) return;
    FreeSums sums = freeSums(trace_, contents.blocks);
    pinned_.free_bytes += sums.bytes;
    pinned_.releasable_bytes += sums.releasable_bytes;
    pinned_.held_in_pools_bytes += sums.held_in_pools_bytes;
    pinned_.pinned_bytes += sums.pinned_bytes;
    pinned_.segments += sums.pinned_segments;
    if (sums.pinned_bytes == 0) return;
    uncounted_ = 0;
    uint64_t by_somebody = 0;
    forEachUnit(trace_, contents, [&](uint64_t free_bytes, const std::vector<size_t>& live) {
      if (live.empty() || free_bytes == 0) return;
      by_somebody += free_bytes;
      addUnit(contents, free_bytes, live);
    });
    pinned_.by_nobody_bytes += sums.pinned_bytes - std::min(sums.pinned_bytes, by_somebody);
  }

  Pinned take() {
    for (Group& group : groups_) pinned_.stacks.push_back(group.pins);
    auto most_pinned = [](const StackPins& a, const StackPins& b) {
      return std::tuple(b.pinsBytes(), b.alone_bytes, a.block_bytes, a.oldest_row) <
             std::tuple(a.pinsBytes(), a.alone_bytes, b.block_bytes, b.oldest_row);
    };
    std::sort(pinned_.stacks.begin(), pinned_.stacks.end(), most_pinned);
    auto end_of_major =
        std::find_if_not(pinned_.stacks.begin(), pinned_.stacks.end(),
                         [&](const StackPins& pins) { return pinned_.isMajor(pins); });
    std::stable_sort(pinned_.stacks.begin(), end_of_major,
                     [](const auto& a, const auto& b) { return perLiveByte(a) > perLiveByte(b); });
    return std::move(pinned_);
  }

 private:
  struct Group {
    StackPins pins;
    uint64_t last_unit = 0;
    uint32_t last_segment = model::SegmentId::kNone;
  };

  void addUnit(const SegmentContents& contents, uint64_t free_bytes,
               const std::vector<size_t>& live) {
    ++unit_;
    in_unit_.clear();
    for (size_t i : live) {
      const LayoutBlock& block = contents.blocks[i];
      uint32_t index = groupOf(block);
      Group& group = groups_[index];
      if (group.last_unit != unit_) {
        group.last_unit = unit_;
        in_unit_.push_back(index);
      }
      if (i < uncounted_) continue;  // also lies in the unit before
      uncounted_ = i + 1;
      if (group.last_segment != contents.segment.value) group.pins.segments++;
      group.last_segment = contents.segment.value;
      count(group.pins, block.allocation.value, contents.bytesOf(i));
    }
    bool alone = in_unit_.size() == 1;
    if (!alone) pinned_.shared_bytes += free_bytes;
    for (uint32_t index : in_unit_) {
      StackPins& pins = groups_[index].pins;
      (alone ? pins.alone_bytes : pins.shared_bytes) += free_bytes;
    }
  }

  void count(StackPins& pins, uint32_t row, uint64_t bytes) const {
    const std::vector<Step>& first = trace_.allocations.first_step;
    if (pins.blocks == 0) {
      pins.oldest_row = pins.smallest_row = row;
      pins.smallest_bytes = bytes;
    }
    if (std::tie(first[row], row) < std::tie(first[pins.oldest_row], pins.oldest_row)) {
      pins.oldest_row = row;
    }
    if (bytes < pins.smallest_bytes) {
      pins.smallest_row = row;
      pins.smallest_bytes = bytes;
    }
    pins.largest_bytes = std::max(pins.largest_bytes, bytes);
    if (isOlder(trace_.allocations.provenance[row])) pins.older_bytes += bytes;
    pins.blocks++;
    pins.block_bytes += bytes;
  }

  uint32_t groupOf(const LayoutBlock& block) {
    auto [found, fresh] =
        group_of_.try_emplace(block.stack.value, static_cast<uint32_t>(groups_.size()));
    if (fresh) groups_.push_back({.pins = {.stack = block.stack}});
    return found->second;
  }

  const model::Trace& trace_;
  Pinned pinned_;
  std::vector<Group> groups_;
  boost::unordered_flat_map<uint32_t, uint32_t> group_of_;
  std::vector<uint32_t> in_unit_;  // groups of the current unit
  uint64_t unit_ = 0;
  size_t uncounted_ = 0;  // blocks of the current segment before this one are counted
};

}  // namespace

std::vector<Pin> pinsOf(const model::Trace& trace, const SegmentContents& contents) {
  std::vector<Pin> pins;
  if (!contents.segment.valid()) return pins;
  std::vector<uint64_t> bytes(contents.blocks.size(), 0);
  forEachUnit(trace, contents, [&](uint64_t free_bytes, const std::vector<size_t>& live) {
    for (size_t i : live) bytes[i] += free_bytes;
  });
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == 0) continue;
    pins.push_back({contents.blocks[i].allocation.value, contents.bytesOf(i), bytes[i]});
  }
  return pins;
}

Pinned pinnedBy(const model::Trace& trace, const SegmentedLayout& layout) {
  Ranking ranking(trace);
  for (const SegmentContents& contents : layout.segments()) ranking.add(contents);
  return ranking.take();
}

}  // namespace tidegauge::analysis
