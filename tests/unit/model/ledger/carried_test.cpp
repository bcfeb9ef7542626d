// What is live is carried from one part of a recording to the next: a ledger that reads the next
// part alone says the same as one that has read everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "model/ledger/ledger.h"
#include "support/any_call.h"
#include "support/call_stream.h"

namespace tidegauge::model {
namespace {

using testing::anyCall;
using testing::CallStream;

struct Both {
  Ledger whole, part;
  std::vector<Effect> effects;  // of the part
  Both() : part([this](const Effect& effect) { effects.push_back(effect); }) {}

  void carry(int64_t now_ns) {
    for (MemoryCall call : whole.find(0)->carried()) {
      call.end_ns = now_ns;
      part.takeCarried(call);
    }
  }
};

std::vector<std::tuple<uint32_t, int32_t, int, uint64_t, uint64_t, int64_t>> sorted(
    const std::vector<HeldBy>& held) {
  std::vector<std::tuple<uint32_t, int32_t, int, uint64_t, uint64_t, int64_t>> rows;
  for (const HeldBy& it : held)
    rows.emplace_back(it.stack, it.device, static_cast<int>(it.kind), it.bytes, it.count,
                      it.oldest_ns);
  std::sort(rows.begin(), rows.end());
  return rows;
}

void expectSame(const ProcessLedger& a, const ProcessLedger& b) {
  for (int32_t device = -1; device < 3; ++device) {
    for (size_t kind = 0; kind <= kMemoryKinds; ++kind) {
      auto of = static_cast<MemoryKind>(kind);
      EXPECT_EQ(a.sum(device, of).bytes, b.sum(device, of).bytes) << device << " " << kind;
      EXPECT_EQ(a.sum(device, of).live, b.sum(device, of).live) << device << " " << kind;
    }
  }
  EXPECT_EQ(sorted(a.heldByStack()), sorted(b.heldByStack()));
  EXPECT_EQ(sorted(a.blocksByStack()), sorted(b.blocksByStack()));
  EXPECT_EQ(a.unmappedBytes(), b.unmappedBytes());
  EXPECT_EQ(a.outsideBytes(), b.outsideBytes());
  // Parts of one mapping whose range was never reserved are ranges of their own in the next part.
  auto pages = [](const std::vector<LiveRange>& all) {
    std::vector<std::pair<uint64_t, int32_t>> rows;
    for (const LiveRange& it : all)
      for (uint64_t at = 0; at < it.size_bytes; at += 0x100) rows.emplace_back(it.address + at, 0);
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  EXPECT_EQ(pages(a.liveRanges()), pages(b.liveRanges()));
  EXPECT_EQ(pages(a.liveBlocks()), pages(b.liveBlocks()));
  for (const auto& [key, pool] : a.pools()) {
    auto other = b.pools().find(key);
    ASSERT_NE(other, b.pools().end());
    EXPECT_EQ(pool.used_bytes, other->second.used_bytes);
    EXPECT_EQ(pool.most_used_bytes, other->second.most_used_bytes);
    EXPECT_EQ(pool.is_destroyed, other->second.is_destroyed);
  }
}

TEST(Carried, APartAloneSaysTheSameFromItsBeginningToItsEnd) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Both both;
    int64_t now_ns = 10;
    for (int i = 0; i < 120; ++i) both.whole.take(anyCall(random, now_ns += 10));
    both.carry(now_ns);
    expectSame(*both.whole.find(0), *both.part.find(0));
    if (HasFailure()) FAIL() << "as it is carried";
    for (int i = 0; i < 120; ++i) {
      MemoryCall call = anyCall(random, now_ns += 10);
      both.whole.take(call);
      both.part.take(call);
      expectSame(*both.whole.find(0), *both.part.find(0));
      if (HasFailure()) return;
    }
  }
}

TEST(Carried, NothingCountsAsHandedOutAndEverythingIsMarked) {
  Both both;
  CallStream calls;
  calls.allocate(MemoryKind::kDevice, 0x10000, 0x4000).device(0).stack(3);
  calls.allocate(MemoryKind::kBlock, 0x10000, 0x100).device(0).stack(4).stream(9);
  calls.free(MemoryKind::kBlock, 0x10000);
  calls.allocate(MemoryKind::kPinnedHost, 0x90000, 0x1000).stack(5);
  for (const MemoryCall& call : calls.all()) both.whole.take(call);
  both.carry(2'000'000'000);
  const ProcessLedger& part = *both.part.find(0);
  EXPECT_EQ(part.sum(0, MemoryKind::kDevice).allocations, 0U);
  EXPECT_EQ(part.deviceSum(0).allocations, 0U);
  EXPECT_EQ(part.sum(-1, MemoryKind::kPinnedHost).allocations, 0U);
  ASSERT_EQ(both.effects.size(), 2U);
  for (const Effect& effect : both.effects) {
    EXPECT_TRUE(effect.is_carried);
    EXPECT_EQ(effect.time_ns, 2'000'000'000);
  }
  EXPECT_TRUE(both.effects[0].of_framework);  // an empty segment of the framework stays its own
  EXPECT_EQ(both.effects[0].stream, 9U);
  EXPECT_EQ(part.heldByStack()[0].oldest_ns, 1'000'000'010);
}

// What no recorder writes does no harm.
TEST(Carried, WhatCannotBeIsCounted) {
  Ledger ledger;
  MemoryCall call;
  call.kind = MemoryKind::kPhysical;
  call.verb = Verb::kMap;
  call.handle = 7;
  call.address = 0x1000;
  call.size_bytes = 0x1000;
  ledger.takeCarried(call);
  call.verb = Verb::kRetain;
  ledger.takeCarried(call);
  call.kind = MemoryKind::kDevice;
  call.verb = Verb::kAllocate;
  call.size_bytes = UINT64_MAX;
  ledger.takeCarried(call);
  // Only what brings something can have been carried.
  for (auto [verb, kind] : {std::pair{Verb::kFree, MemoryKind::kBlock},
                            {Verb::kMap, MemoryKind::kBlock},
                            {Verb::kFree, MemoryKind::kDevice},
                            {Verb::kFree, MemoryKind::kArray},
                            {Verb::kFree, MemoryKind::kAlias},
                            {Verb::kDestroy, MemoryKind::kGraph},
                            {Verb::kFree, MemoryKind::kAddressRange},
                            {Verb::kAsk, MemoryKind::kAnswer},
                            {Verb::kAllocate, MemoryKind::kAnswer}}) {
    call.verb = verb;
    call.kind = kind;
    call.size_bytes = 0x1000;
    ledger.takeCarried(call);
  }
  EXPECT_EQ(ledger.find(0)->counts().impossible, 12U);
  EXPECT_TRUE(ledger.find(0)->heldByStack().empty());
  EXPECT_EQ(ledger.find(0)->deviceSum(-1).bytes, 0U);
}

uint64_t bytesIn(const std::vector<LiveRange>& ranges) {
  uint64_t sum = 0;
  for (const LiveRange& range : ranges) sum += range.size_bytes;
  return sum;
}

// An address is of one thing: what comes later of a part that says otherwise stands.
TEST(Carried, NothingIsMemoryAndMappingAtOnce) {
  CallStream calls;
  calls.allocate(MemoryKind::kPhysical, 7, 0x4000).device(0).offset(1);  // its key is 7
  calls.allocate(MemoryKind::kDevice, 0x10000, 0x2000).device(0);
  calls.map(0x10000, 0x4000, 7).device(0);
  Ledger ledger;
  for (const MemoryCall& call : calls.all()) ledger.takeCarried(call);
  const ProcessLedger& process = *ledger.find(0);
  EXPECT_EQ(process.sum(0, MemoryKind::kDevice).bytes, 0U);
  EXPECT_EQ(process.deviceSum(0).bytes, 0x4000U);
  EXPECT_EQ(bytesIn(process.liveRanges()), 0x4000U);

  calls.allocate(MemoryKind::kDevice, 0x11000, 0x1000).device(0);  // and the other way round
  ledger.takeCarried(calls.all().back());
  EXPECT_EQ(process.deviceSum(0).bytes, 0x5000U);
  EXPECT_EQ(bytesIn(process.liveRanges()), 0x4000U);
  EXPECT_EQ(process.counts().impossible, 0U);
}

// What is mapped once more where it alone is mapped does not go with that.
TEST(Carried, AMappingInPlaceOfItselfKeepsItsMemory) {
  CallStream calls;
  calls.allocate(MemoryKind::kPhysical, 7, 0x4000).device(0);  // no handle leads to it
  calls.map(0x10000, 0x4000, 7).device(0);
  calls.map(0x10000, 0x4000, 7).device(0);
  Ledger ledger;
  for (const MemoryCall& call : calls.all()) ledger.takeCarried(call);
  EXPECT_EQ(ledger.find(0)->deviceSum(0).bytes, 0x4000U);
  EXPECT_EQ(ledger.find(0)->counts().impossible, 0U);
}

TEST(Carried, WhatCannotBeTakesNothingAway) {
  CallStream calls;
  calls.allocate(MemoryKind::kPhysical, 7, 0x4000).device(0);
  calls.map(0x10000, 0x4000, 7).device(0);
  calls.map(0x10000, 0x4000, 8).device(0);  // of memory that is not there
  calls.map(0x12000, 0, 7).device(0);
  size_t effects = 0;
  Ledger ledger([&](const Effect&) { ++effects; });
  for (const MemoryCall& call : calls.all()) ledger.takeCarried(call);
  EXPECT_EQ(ledger.find(0)->counts().impossible, 2U);
  EXPECT_EQ(ledger.find(0)->deviceSum(0).bytes, 0x4000U);
  EXPECT_EQ(effects, 2U);  // reserved and mapped
}

}  // namespace
}  // namespace tidegauge::model
