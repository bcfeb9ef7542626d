// What is live is carried from one part of a recording to the next: a ledger that reads the next part
// alone says the same as one that has read everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "model/ledger.h"
#include "support/call_stream.h"

namespace tidegauge::model {
namespace {

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

// Whatever a program may call, in any order, also what makes no sense.
MemoryCall anyCall(std::mt19937& random, int64_t now_ns) {
  auto pick = [&](uint64_t below) { return random() % below; };
  MemoryCall call;
  call.start_ns = now_ns - 1;
  call.end_ns = now_ns;
  call.thread = static_cast<uint32_t>(1 + pick(3));
  call.stack = static_cast<uint32_t>(pick(5));
  call.device = pick(3) == 0 ? kUnknownDevice : static_cast<int32_t>(pick(2));
  call.address = 0x10000 + 0x1000 * pick(24);
  call.size_bytes = 0x800 * (1 + pick(6));
  using V = Verb;
  using K = MemoryKind;
  static constexpr std::pair<V, K> kCalls[] = {
      {V::kAllocate, K::kDevice},    {V::kAllocate, K::kDevice},
      {V::kFree, K::kDevice},        {V::kAllocate, K::kPinnedHost},
      {V::kFree, K::kPinnedHost},    {V::kAllocate, K::kPool},
      {V::kFree, K::kPool},          {V::kCreate, K::kPoolItself},
      {V::kDestroy, K::kPoolItself}, {V::kTrim, K::kPoolItself},
      {V::kAllocate, K::kPhysical},  {V::kAllocate, K::kPhysical},
      {V::kFree, K::kPhysical},      {V::kRetain, K::kPhysical},
      {V::kMap, K::kPhysical},       {V::kMap, K::kPhysical},
      {V::kUnmap, K::kPhysical},     {V::kAllocate, K::kAddressRange},
      {V::kAllocate, K::kArray},     {V::kFree, K::kArray},
      {V::kAllocate, K::kAlias},     {V::kFree, K::kAlias},
      {V::kAllocate, K::kGraph},     {V::kAllocate, K::kBlock},
      {V::kAllocate, K::kBlock},     {V::kFree, K::kBlock},
      {V::kCreate, K::kContext},     {V::kRetain, K::kContext},
      {V::kRelease, K::kContext},    {V::kDestroy, K::kContext},
      {V::kSet, K::kContext},        {V::kPush, K::kContext},
      {V::kPop, K::kContext},        {V::kSet, K::kDevice},
      {V::kReset, K::kContext}};
  auto [verb, kind] = kCalls[pick(std::size(kCalls))];
  call.verb = verb;
  call.kind = kind;
  call.handle = 1 + pick(4);
  if (kind == K::kPhysical) call.device = static_cast<int32_t>(pick(2));
  if (kind == K::kContext) {
    call.handle = 100 + pick(4);
    if (verb == V::kReset && pick(4) != 0) call.verb = V::kSet;
    // A device has one primary context; others are made for a device.
    if (verb == V::kRetain || verb == V::kCreate) call.device = static_cast<int32_t>(pick(2));
    if (verb == V::kRetain) call.handle = 100 + static_cast<uint64_t>(call.device);
    if (verb == V::kCreate) call.handle = 102 + pick(2);
  }
  if (verb == V::kSet && kind == K::kDevice) {
    call.plane = Plane::kRuntime;
    call.handle = pick(2);
  }
  if (kind == K::kArray) call.handle = 0x500 + pick(4);
  if (kind == K::kBlock) {
    call.plane = Plane::kFramework;
    call.size_bytes = 0x100 * (1 + pick(4));
  }
  if (verb == V::kMap) call.size_bytes = 0x1000 * (1 + pick(3));
  return call;
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
  EXPECT_EQ(ledger.find(0)->counts().impossible, 3U);
  EXPECT_EQ(ledger.find(0)->deviceSum(-1).bytes, 0U);
}

}  // namespace
}  // namespace tidegauge::model
