#include "view/state_at.h"

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <tuple>

#include "analysis/layout/free_sums.h"
#include "analysis/layout/segment_contents.h"

namespace tidegauge::view {
namespace {

using analysis::isLive;
using analysis::LayoutBlock;
using analysis::SegmentContents;
using analysis::SegmentedLayout;
using model::BlockState;

constexpr double kRaise = 1.5;

class Builder {
 public:
  Builder(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
          const StateQuestion& question)
      : trace_(analysed.trace), device_(device), q_(question) {}

  State build() {
    State state;
    Step steps = device_.device.steps();
    state.step = steps == 0 ? 0 : std::min(q_.step, steps - 1);
    SegmentedLayout layout(analysis::blocksAt(trace_, device_.device, device_.live, state.step));
    contents_ = layout.segments();
    for (const SegmentContents& contents : contents_) {
      segments_.push_back(describe(contents));
      state.sums.add(segments_.back().sums);
      state.widest_bytes = std::max(state.widest_bytes, segments_.back().span_bytes);
    }
    std::vector<uint32_t> order = sorted();
    state.groups = groups(order);
    state.segments_total = order.size();
    state.offset = std::min(q_.offset, order.size());
    size_t end = state.offset + std::min(q_.limit, order.size() - state.offset);
    shown_.assign(order.begin() + static_cast<ptrdiff_t>(state.offset),
                  order.begin() + static_cast<ptrdiff_t>(end));
    for (uint32_t i : shown_) {
      addPins(contents_[i], segments_[i]);
      state.segments.push_back(segments_[i]);
    }
    state.pixel_bytes = std::max(q_.pixel_bytes, 1.0);
    while (!addParts(state)) state.pixel_bytes *= kRaise;
    return state;
  }

 private:
  StateSegment describe(const SegmentContents& contents) const {
    StateSegment described{.segment = contents.segment};
    SegmentSums& sums = described.sums;
    described.address = contents.blocks.front().address;
    if (contents.segment.valid()) {
      described.address =
          std::min(described.address, trace_.segments.address[contents.segment.index()]);
    }
    for (size_t i = 0; i < contents.blocks.size(); ++i) {
      const LayoutBlock& block = contents.blocks[i];
      uint64_t bytes = contents.bytesOf(i);
      sums.owned_bytes += bytes;
      described.span_bytes =
          contents.segment.valid() ? block.address + bytes - described.address : sums.owned_bytes;
      if (!isLive(block)) {
        sums.free_bytes += bytes;
        sums.largest_free_bytes = std::max(sums.largest_free_bytes, bytes);
        sums.free_parts++;
        continue;
      }
      sums.live_bytes += bytes;
      sums.requested_bytes += block.requested_bytes;
      sums.rounding_bytes += roundingOf(block);
      sums.blocks++;
      if (block.state == BlockState::kActivePendingFree) sums.pending_bytes += bytes;
      if (passes(q_.filter, block.allocation.value)) sums.passing_bytes += bytes;
    }
    if (contents.segment.valid()) {
      analysis::FreeSums free = analysis::freeSums(trace_, contents.blocks);
      sums.pinned_bytes = free.pinned_bytes;
      sums.releasable_bytes = free.releasable_bytes;
      sums.held_in_pools_bytes = free.held_in_pools_bytes;
    }
    return described;
  }

  static uint64_t roundingOf(const LayoutBlock& block) {
    return block.size_bytes - std::min(block.size_bytes, block.requested_bytes);
  }

  // Blocks outside known segments come last; ties by address.
  std::vector<uint32_t> sorted() const {
    struct Key {
      bool outside;
      uint64_t group_rank;
      uint64_t value;  // smaller comes first
      uint64_t address;
      uint32_t index;
      auto tied() const { return std::tie(outside, group_rank, value, address, index); }
    };
    boost::unordered_flat_map<uint32_t, uint64_t> group_bytes;
    for (const StateSegment& segment : segments_) {
      group_bytes[groupOf(segment)] += segment.sums.owned_bytes;
    }
    std::vector<std::pair<uint64_t, uint32_t>> by_bytes;  // largest group first, then by its ids
    for (const auto& [group, bytes] : group_bytes) by_bytes.emplace_back(UINT64_MAX - bytes, group);
    std::sort(by_bytes.begin(), by_bytes.end());
    boost::unordered_flat_map<uint32_t, uint64_t> rank_of;
    for (size_t i = 0; i < by_bytes.size(); ++i) rank_of[by_bytes[i].second] = i;
    std::vector<Key> keys;
    for (uint32_t i = 0; i < segments_.size(); ++i) {
      const StateSegment& segment = segments_[i];
      keys.push_back({!segment.segment.valid(), q_.grouped ? rank_of[groupOf(segment)] : 0,
                      sortValue(segment), segment.address, i});
    }
    std::sort(keys.begin(), keys.end(),
              [](const Key& x, const Key& y) { return x.tied() < y.tied(); });
    std::vector<uint32_t> order;
    order.reserve(keys.size());
    for (const Key& key : keys) order.push_back(key.index);
    return order;
  }

  uint64_t sortValue(const StateSegment& segment) const {
    switch (q_.sort) {
      case StateSort::kAddress:
        return segment.address;
      case StateSort::kSize:
        return UINT64_MAX - segment.sums.owned_bytes;
      case StateSort::kAge:  // oldest first
        return segment.segment.valid() ? trace_.segments.first_step[segment.segment.index()] : 0;
      case StateSort::kWaste:
        return UINT64_MAX - segment.sums.free_bytes - segment.sums.rounding_bytes;
      case StateSort::kPinned:
        return UINT64_MAX - segment.sums.pinned_bytes;
    }
    return 0;
  }

  // Pool and stream as one number.
  uint32_t groupOf(const StateSegment& segment) const {
    if (!segment.segment.valid()) return UINT32_MAX;
    size_t i = segment.segment.index();
    return uint32_t{trace_.segments.pool[i].value} << 16 | trace_.segments.stream[i].value;
  }

  std::vector<StateGroup> groups(const std::vector<uint32_t>& order) const {
    std::vector<StateGroup> groups;
    for (size_t i = 0; i < order.size(); ++i) {
      const StateSegment& segment = segments_[order[i]];
      uint32_t key = groupOf(segment);
      bool same = i > 0 && (!q_.grouped || key == groupOf(segments_[order[i - 1]]));
      if (!same) {
        StateGroup& group = groups.emplace_back();
        group.first = i;
        group.known = segment.segment.valid();
        if (group.known && q_.grouped) {
          group.pool = model::PoolId(static_cast<uint16_t>(key >> 16));
          group.stream = model::StreamId(static_cast<uint16_t>(key & 0xffff));
        }
      }
      groups.back().count++;
      groups.back().sums.add(segment.sums);
    }
    return groups;
  }

  void addPins(const SegmentContents& contents, StateSegment& described) const {
    if (described.sums.pinned_bytes == 0) return;
    std::vector<Pin> pins = analysis::pinsOf(trace_, contents);
    described.pin_count = pins.size();
    size_t kept = std::min(pins.size(), kMaxPins);
    // The pins of most bytes; if all pin the same, the smallest blocks show the waste best.
    std::partial_sort(pins.begin(), pins.begin() + static_cast<ptrdiff_t>(kept), pins.end(),
                      [](const Pin& x, const Pin& y) {
                        return std::tie(y.pins_bytes, x.block_bytes, x.row) <
                               std::tie(x.pins_bytes, y.block_bytes, y.row);
                      });
    pins.resize(kept);
    described.pins = std::move(pins);
  }

  // False if there are too many parts.
  bool addParts(State& state) const {
    state.parts.clear();
    // Each bar has at least one part, so merging cannot bound a list of many bars.
    size_t most = std::max(q_.most_parts, shown_.size());
    for (uint32_t s = 0; s < shown_.size(); ++s) {
      const SegmentContents& contents = contents_[shown_[s]];
      StatePart merged{.segment = s};
      uint64_t members = 0;
      uint64_t largest_bytes = 0;  // of the merged blocks
      auto flush = [&] {
        if (members == 0) return;
        if (members > 1) merged.kind = PartKind::kMerged;
        state.parts.push_back(merged);
        members = 0;
      };
      uint64_t at = segments_[shown_[s]].address;  // filled up to here
      bool known = contents.segment.valid();
      auto add = [&](const StatePart& part) {
        bool narrow = static_cast<double>(part.size_bytes) < state.pixel_bytes;
        bool wide_enough = static_cast<double>(merged.size_bytes) >= state.pixel_bytes;
        if (!narrow || (members > 0 && wide_enough)) flush();
        if (members == 0) {
          merged = part;
        } else {
          join(merged, part, part.live_bytes > largest_bytes);
        }
        largest_bytes = std::max(members == 0 ? 0 : largest_bytes, part.live_bytes);
        ++members;
        if (!narrow) flush();
      };
      for (size_t i = 0; i < contents.blocks.size(); ++i) {
        const LayoutBlock& block = contents.blocks[i];
        uint64_t address = known ? block.address : at;
        if (address > at) {
          add({.segment = s,
               .offset_bytes = at - segments_[shown_[s]].address,
               .size_bytes = address - at,
               .kind = PartKind::kUnmapped});
        }
        StatePart part = partOf(contents, i);
        part.segment = s;
        part.offset_bytes = address - segments_[shown_[s]].address;
        if (part.size_bytes > 0 || part.blocks > 0) add(part);
        at = address + part.size_bytes;
      }
      flush();
      if (state.parts.size() > most && std::isfinite(state.pixel_bytes * kRaise)) return false;
    }
    return true;
  }

  StatePart partOf(const SegmentContents& contents, size_t i) const {
    const LayoutBlock& block = contents.blocks[i];
    StatePart part;
    part.size_bytes = contents.bytesOf(i);
    if (!isLive(block)) {
      part.kind = PartKind::kFree;
      return part;
    }
    uint32_t row = block.allocation.value;
    bool pending = block.state == BlockState::kActivePendingFree;
    part.kind = pending ? PartKind::kPending : PartKind::kLive;
    part.blocks = 1;
    part.live_bytes = part.size_bytes;
    part.rounding_bytes = roundingOf(block);
    part.row = row;
    part.marked = q_.mark != nullptr && q_.mark->has(row);
    part.filtered = !passes(q_.filter, row);
    return part;
  }

  static void join(StatePart& merged, const StatePart& part, bool is_largest) {
    if (part.blocks > 0) {
      merged.filtered = merged.blocks == 0 ? part.filtered : merged.filtered && part.filtered;
      if (merged.row == UINT32_MAX || is_largest) merged.row = part.row;
    }
    merged.size_bytes += part.size_bytes;
    merged.live_bytes += part.live_bytes;
    merged.rounding_bytes += part.rounding_bytes;
    merged.blocks += part.blocks;
    merged.marked = merged.marked || part.marked;
  }

  const model::Trace& trace_;
  const analysis::DeviceAnalysis& device_;
  const StateQuestion& q_;
  std::vector<SegmentContents> contents_;
  std::vector<StateSegment> segments_;  // same order as contents_
  std::vector<uint32_t> shown_;
};

}  // namespace

void SegmentSums::add(const SegmentSums& other) {
  owned_bytes += other.owned_bytes;
  live_bytes += other.live_bytes;
  requested_bytes += other.requested_bytes;
  rounding_bytes += other.rounding_bytes;
  pending_bytes += other.pending_bytes;
  free_bytes += other.free_bytes;
  largest_free_bytes = std::max(largest_free_bytes, other.largest_free_bytes);
  pinned_bytes += other.pinned_bytes;
  releasable_bytes += other.releasable_bytes;
  held_in_pools_bytes += other.held_in_pools_bytes;
  blocks += other.blocks;
  free_parts += other.free_parts;
  passing_bytes += other.passing_bytes;
}

std::optional<StateSort> stateSortByName(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, StateSort>, 5> kNames = {
      {{"address", StateSort::kAddress},
       {"size", StateSort::kSize},
       {"age", StateSort::kAge},
       {"waste", StateSort::kWaste},
       {"pinned", StateSort::kPinned}}};
  for (const auto& [known, sort] : kNames) {
    if (known == name) return sort;
  }
  return std::nullopt;
}

State stateAt(const analysis::AnalysedTrace& analysed, const analysis::DeviceAnalysis& device,
              const StateQuestion& question) {
  return Builder(analysed, device, question).build();
}

}  // namespace tidegauge::view
