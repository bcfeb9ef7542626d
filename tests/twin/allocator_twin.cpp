// replay::Allocator against its naive twin, and against invariants of any allocator, on random
// programs under random settings.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "replay/allocator/allocator.h"
#include "replay/allocator/model_driver.h"
#include "support/naive_allocator.h"

namespace tidegauge::replay {
namespace {

constexpr uint64_t kCapacity = 600 * kMiB;

class Lines final : public Listener {
 public:
  void wrote(const Entry& entry) override {
    entries.push_back(
        fmt::format("{} {:x} {} {}", name(entry.action), entry.address, entry.bytes, entry.stream));
  }
  static const char* name(model::Action action) {
    switch (action) {
      case model::Action::kAlloc:
        return "alloc";
      case model::Action::kFreeRequested:
        return "free_requested";
      case model::Action::kFreeCompleted:
        return "free_completed";
      case model::Action::kSegmentAlloc:
        return "segment_alloc";
      case model::Action::kSegmentFree:
        return "segment_free";
      case model::Action::kSegmentMap:
        return "segment_map";
      case model::Action::kSegmentUnmap:
        return "segment_unmap";
      case model::Action::kOom:
        return "oom";
      default:
        return "?";
    }
  }
  std::vector<std::string> entries;
};

rc::Gen<Settings> anySettings() {
  return rc::gen::exec([] {
    Settings settings;
    settings.expandable = *rc::gen::arbitrary<bool>();
    settings.tie = *rc::gen::element(TieBreak::kSegment, TieBreak::kAddress);
    settings.max_split_bytes = *rc::gen::element(kUnlimited, kUnlimited, 32 * kMiB, 64 * kMiB);
    if (*rc::gen::arbitrary<bool>())
      settings.roundup_divisions.fill(*rc::gen::element(0U, 1U, 2U, 4U, 8U));
    if (*rc::gen::arbitrary<bool>()) {
      settings.fraction = *rc::gen::element(0.3, 0.6, 0.9, 1.0);
      settings.gc_threshold = *rc::gen::element(0.0, 0.3, 0.8);
    }
    settings.large_segment_bytes = *rc::gen::element(20 * kMiB, 20 * kMiB, 32 * kMiB);
    settings.max_non_split_rounding_bytes =
        settings.large_segment_bytes * *rc::gen::element(1U, 1U, 2U);
    settings.private_pools_expandable = *rc::gen::arbitrary<bool>();
    if (*rc::gen::inRange(0, 3) == 0) settings.own_allocator_pools = {1};
    settings.gc_needs_fraction_below_1 = *rc::gen::arbitrary<bool>();
    if (*rc::gen::inRange(0, 4) == 0)
      settings.limit_bytes = *rc::gen::element(100 * kMiB, 400 * kMiB);
    return settings;
  });
}

uint64_t anyRequest() {
  int kind = *rc::gen::inRange(0, 5);
  if (kind == 4) return *rc::gen::inRange<uint64_t>(1, 40) * kMiB;  // on the borders of all rules
  if (kind == 0) return *rc::gen::inRange<uint64_t>(1, 4096);
  if (kind == 1) return *rc::gen::inRange<uint64_t>(1, 2 * kMiB);
  if (kind == 2) return *rc::gen::inRange<uint64_t>(kMiB, 24 * kMiB);
  return *rc::gen::inRange<uint64_t>(kMiB, 160 * kMiB);
}

// Invariants after any call: blocks tile their segments, free neighbours are merged, links and sums
// agree.
void checkInvariants(const Allocator& allocator) {
  uint64_t reserved = 0, active = 0, segments = 0;
  uint64_t end = 0;
  for (const auto& [address, id] : allocator.byAddress()) {
    const SegmentRow& segment = allocator.segment(id);
    RC_ASSERT(address >= end);
    end = address + segment.bytes;
    segments += segment.page_bytes == 0;
    uint64_t at = address;
    BlockId before{};
    for (BlockId block = segment.first; block.valid(); block = allocator.block(block).next) {
      const Block& it = allocator.block(block);
      RC_ASSERT(it.address == at);
      RC_ASSERT(it.bytes > 0U);
      RC_ASSERT(it.bytes % kMinBlockBytes == 0U);
      RC_ASSERT(it.prev == before);
      RC_ASSERT(it.segment == id);
      if (before.valid()) {
        const Block& other = allocator.block(before);
        RC_ASSERT(!(it.isFree() && other.isFree() && it.is_mapped == other.is_mapped));
      }
      if (it.is_mapped) reserved += it.bytes;
      if (!it.isFree()) {
        active += it.bytes;
        RC_ASSERT(it.is_mapped);
        RC_ASSERT(it.bytes >= it.requested_bytes);
      }
      at += it.bytes;
      before = block;
    }
    RC_ASSERT(at == end);
  }
  auto now = [&](Quantity quantity) {
    return static_cast<uint64_t>(allocator.stats()[quantity].all.current);
  };
  RC_ASSERT(now(Quantity::kReservedBytes) == reserved);
  RC_ASSERT(now(Quantity::kActiveBytes) == active);
  RC_ASSERT(now(Quantity::kSegment) == segments);
}

// The smallest free block of the stream and pool that is large enough.
uint64_t leastFit(const Allocator& allocator, uint64_t bytes, StreamRank stream, OwnerIndex owner) {
  uint64_t least = UINT64_MAX;
  for (const auto& [address, id] : allocator.byAddress())
    for (BlockId block = allocator.segment(id).first; block.valid();
         block = allocator.block(block).next) {
      const Block& it = allocator.block(block);
      if (it.isFree() && it.is_mapped && it.stream == stream && it.owner == owner &&
          it.bytes >= bytes && it.is_small == (bytes <= kSmallBytes))
        least = std::min(least, it.bytes);
    }
  return least;
}

void run(const Settings& settings, bool is_checked) {
  RC_LOG() << fmt::format(
      "expandable {} tie {} max_split {} fraction {} gc {} large {} divisions {} private {} own {} "
      "armed {} limit {}\n",
      settings.expandable, settings.tie == TieBreak::kSegment ? "segment" : "address",
      settings.max_split_bytes, settings.fraction.value_or(-1), settings.gc_threshold,
      settings.large_segment_bytes, settings.roundup_divisions[0],
      settings.private_pools_expandable, settings.own_allocator_pools.size(),
      settings.gc_needs_fraction_below_1, settings.limit_bytes.value_or(0));
  ModelDriver driver(kCapacity);
  Lines lines;
  Allocator allocator(settings, kCapacity, driver, lines);
  testing::NaiveAllocator twin(settings, kCapacity);
  std::map<uint64_t, BlockId> live;
  std::vector<BlockId> waiting;
  uint32_t names = 0;
  int steps = *rc::gen::inRange(1, 120);
  for (int i = 0; i < steps; ++i) {
    int what = *rc::gen::inRange(0, 21);
    if (what < 11) {
      uint64_t bytes = anyRequest();
      auto stream = static_cast<StreamRank>(*rc::gen::inRange(0, 3));
      uint64_t rounded = settings.roundedBytes(bytes);
      size_t before = lines.entries.size();
      auto owner = static_cast<OwnerIndex>(std::max(0, *rc::gen::inRange(-3, 3)));  // 0 mostly
      uint64_t least = is_checked ? leastFit(allocator, rounded, stream, owner) : 0;
      auto block = allocator.malloc(bytes, stream, owner, names++);
      auto address = twin.malloc(bytes, stream, owner);
      RC_ASSERT(lines.entries == twin.entries);
      RC_ASSERT(block.has_value() == address.has_value());
      if (block) {
        RC_ASSERT(allocator.block(*block).address == *address);
        live[*address] = *block;
        // Best fit: the block before the split is the smallest that was large enough.
        bool is_plain = !settings.expandable && lines.entries.size() == before + 1;
        if (is_checked && is_plain) {
          const Block& it = allocator.block(*block);
          uint64_t was = it.bytes;
          if (it.next.valid() && allocator.block(it.next).isFree() && was == rounded)
            was += allocator.block(it.next).bytes;
          RC_ASSERT(was == least || it.bytes == least);
        }
      }
    } else if (what < 18 && !live.empty()) {
      auto at = std::next(live.begin(),
                          *rc::gen::inRange<ptrdiff_t>(0, static_cast<ptrdiff_t>(live.size())));
      bool is_shared = *rc::gen::inRange(0, 5) == 0;
      uint64_t address = at->first;
      BlockId block = at->second;
      live.erase(at);
      if (is_shared) waiting.push_back(block);
      allocator.free(block, is_shared);
      twin.free(address, is_shared);
    } else if (what == 18) {
      allocator.emptyCache();
      twin.emptyCache();
      waiting.clear();
    } else if (what == 20) {
      auto owner = static_cast<OwnerIndex>(*rc::gen::inRange(1, 3));
      allocator.releasePool(owner);
      if (allocator.knows(owner)) twin.releasePool(owner);
    } else if (!waiting.empty()) {
      BlockId block = waiting.front();
      waiting.erase(waiting.begin());
      if (!allocator.block(block).waits) continue;
      twin.done(allocator.block(block).address);
      allocator.markDone(block);
    }
    if (is_checked) checkInvariants(allocator);
    RC_ASSERT(lines.entries == twin.entries);
  }
}

RC_GTEST_PROP(AllocatorTwin, WritesWhatTheNaiveOneWrites, ()) {
  for (int i = 0; i < 10; ++i) run(*anySettings(), false);
}

RC_GTEST_PROP(AllocatorTwin, KeepsWhatMustHoldOfAnyAllocator, ()) {
  for (int i = 0; i < 10; ++i) run(*anySettings(), true);
}

// A copy is independent: the replay tries interpretations of a trace on copies.
TEST(Allocator, CopiesAreIndependent) {
  ModelDriver driver(kCapacity);
  Lines lines;
  Allocator allocator(Settings{}, kCapacity, driver, lines);
  auto block = allocator.malloc(3 * kMiB, 0, 0);
  ASSERT_TRUE(block);
  Allocator copy = allocator;
  copy.free(*block, false);
  copy.emptyCache();
  EXPECT_EQ(copy.stats()[Quantity::kReservedBytes].all.current, 0);
  EXPECT_EQ(allocator.stats()[Quantity::kReservedBytes].all.current, 20 << 20);
  EXPECT_TRUE(allocator.block(*block).is_allocated);
}

}  // namespace
}  // namespace tidegauge::replay
