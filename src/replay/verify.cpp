#include "replay/verify.h"

#include <algorithm>
#include <set>

#include "replay/verifier.h"

namespace tidegauge::replay {

using model::Action;

std::string_view words(Cause cause) {
  switch (cause) {
    case Cause::kUnknown:
      return "no known cause";
    case Cause::kOlderState:
      return "another free block was taken, and the order of "
             "what is older than the recording is not known";
    case Cause::kNotLive:
      return "it was never handed out: events are missing";
    case Cause::kChecksum:
      return "the recorded sum of active bytes is another";
    case Cause::kSettings:
      return "these settings would ask for another size";
    case Cause::kPlacement:
      return "another free block was taken";
    case Cause::kDriverTraffic:
      return "memory was reserved or released at another moment";
  }
  return "";
}

Settings settingsOf(const model::Trace& trace) {
  const model::AllocatorSettings& recorded = trace.settings;
  Settings settings = settingsIn(recorded.conf);
  if (recorded.present) {
    settings.expandable = recorded.expandable_segments;
    settings.max_split_bytes = recorded.max_split_bytes;
    settings.roundup_divisions = recorded.roundup_power2_divisions;
  } else {
    settings.expandable =
        std::ranges::find(trace.events.action, Action::kSegmentMap) != trace.events.action.end();
  }
  return settings;
}

uint64_t finalDifferences(const Tape& tape, const Allocator& allocator) {
  const model::FinalSegments& finals = tape.trace().final_segments;
  const model::FinalBlocks& blocks = tape.trace().final_blocks;
  const model::Device& device = tape.device();
  std::vector<size_t> rows;
  for (size_t row = device.final_segment_begin; row < device.final_segment_end; ++row)
    rows.push_back(row);
  std::ranges::sort(rows, {}, [&](size_t row) { return finals.address[row]; });
  uint64_t mapped_bytes = 0, compared_bytes = 0, differences = 0;
  for (const auto& [address, id] : allocator.byAddress())
    for (BlockId at = allocator.segment(id).first; at.valid(); at = allocator.block(at).next)
      if (allocator.block(at).is_mapped) mapped_bytes += allocator.block(at).bytes;
  BlockId at{};  // addresses ascend: a chain is walked once
  for (size_t row : rows) {
    compared_bytes += finals.total_bytes[row];
    at = allocator.blockFrom(at, finals.address[row]).value_or(BlockId());
    bool same = at.valid() && tape.rankOf(finals.stream[row]) == allocator.block(at).stream &&
                finals.small_pool[row] == allocator.block(at).is_small;
    for (uint64_t i = finals.block_begin[row]; same && i < finals.block_end[row]; ++i) {
      same = at.valid();
      if (!same) break;
      const Block& block = allocator.block(at);
      model::BlockState state = block.is_allocated ? model::BlockState::kActiveAllocated
                                : block.waits      ? model::BlockState::kActivePendingFree
                                                   : model::BlockState::kInactive;
      same = block.is_mapped && block.address == blocks.address[i] &&
             block.bytes == blocks.size_bytes[i] && state == blocks.state[i] &&
             (block.isFree() || block.requested_bytes == blocks.requested_bytes[i]);
      at = block.next;
    }
    if (!same) ++differences;
  }
  if (differences == 0 && mapped_bytes != compared_bytes) ++differences;
  return differences;
}

namespace {

// The private pools by what their segments are: cudaMalloc, although the others are expandable
// (before 2.5, or of an allocator of their own), or pages.
struct PrivateSegments {
  std::set<OwnerIndex> plain, pages;
};
PrivateSegments privateSegments(const Tape& tape) {
  PrivateSegments found;
  for (model::Step step = 0; step < tape.steps(); ++step) {
    Action action = tape.action(step);
    if (action != Action::kSegmentAlloc && action != Action::kSegmentMap) continue;
    OwnerIndex owner = tape.owner(step);
    if (owner != 0) (action == Action::kSegmentAlloc ? found.plain : found.pages).insert(owner);
  }
  return found;
}

// Since 2.5, a private pool without pages has an allocator of its own. Events have named their
// pools since 2.12.
void choosePrivatePools(const PrivateSegments& of_private, bool has_owners, Settings& settings) {
  if (!settings.expandable || of_private.plain.empty()) return;
  if (of_private.pages.empty() && !has_owners) {
    settings.private_pools_expandable = false;
    return;
  }
  for (OwnerIndex owner : of_private.plain)
    if (!of_private.pages.contains(owner)) settings.own_allocator_pools.push_back(owner);
}

Verification under(const Tape& tape, Settings settings, TieBreak tie, uint64_t most_divergences,
                   const VerifyOptions& options) {
  settings.tie = tie;
  return Verifier(tape, settings, options.capacity_bytes).run(most_divergences);
}

}  // namespace

Verification verify(const model::Trace& trace, const model::Device& device,
                    const VerifyOptions& options) {
  Tape tape(trace, device);
  Settings settings = options.settings;
  PrivateSegments of_private = privateSegments(tape);
  choosePrivatePools(of_private, tape.hasOwners(), settings);
  // The wrong one differs soon and often: if one holds, the other need not be followed to the end.
  constexpr uint64_t kFew = 32;
  Verification by_segment = under(tape, settings, TieBreak::kSegment, kFew, options);
  Verification by_address = under(tape, settings, TieBreak::kAddress, kFew, options);
  bool is_same = by_segment.events_exact == by_address.events_exact;
  // If it makes no difference: events have named their pools since 2.12.
  bool is_by_address = is_same ? !tape.hasOwners() && tape.steps() > 0
                               : by_address.events_exact > by_segment.events_exact;
  Verification& best = is_by_address ? by_address : by_segment;
  if (best.divergences > kFew)  // not if it took too long
    best = under(tape, settings, best.settings.tie, UINT64_MAX, options);
  best.tie_is_known = !is_same;
  best.has_private_pools = !of_private.plain.empty() || !of_private.pages.empty();
  best.private_pools_are_known = settings.expandable && best.has_private_pools;
  // Up to some version before 2.15, any fraction that was set enables the collection.
  bool is_said = settings.fraction && *settings.fraction >= 1 && settings.gc_threshold > 0;
  if (best.first_divergence && is_said) {
    Settings armed = best.settings;
    armed.gc_needs_fraction_below_1 = false;
    Verification other = under(tape, armed, armed.tie, UINT64_MAX, options);
    other.tie_is_known = best.tie_is_known;
    other.has_private_pools = best.has_private_pools;
    other.private_pools_are_known = best.private_pools_are_known;
    if (other.events_exact > best.events_exact) best = std::move(other);
  }
  return std::move(best);
}

}  // namespace tidegauge::replay
