#include "model/ledger/ledger.h"

#include <gtest/gtest.h>

#include "support/bytes.h"
#include "support/call_stream.h"

namespace tidegauge::model {
namespace {

using testing::CallStream;

constexpr auto kDevice = MemoryKind::kDevice;

struct Ran {
  explicit Ran(const CallStream& calls)
      : ledger([this](const Effect& effect) { effects.push_back(effect); }) {
    for (const MemoryCall& call : calls.all()) ledger.take(call);
  }
  const ProcessLedger& of(uint32_t process = 0) const { return *ledger.find(process); }
  size_t count(What what, Cause cause = Cause::kCall) const {
    size_t count = 0;
    for (const Effect& effect : effects) count += effect.what == what && effect.cause == cause;
    return count;
  }
  std::vector<Effect> effects;
  Ledger ledger;
};

TEST(Ledger, ChargesTheDriverAndTakesTheRuntimeForItsName) {
  CallStream calls;
  calls.allocate(kDevice, 0x1000, 2 * kMiB).device(0).stack(7);
  calls.allocate(kDevice, 0x1000, 2 * kMiB).device(0).around(1);
  Ran ran(calls);
  EXPECT_EQ(ran.of().sum(0, kDevice).bytes, 2 * kMiB);
  EXPECT_EQ(ran.of().sum(0, kDevice).allocations, 1U);
  EXPECT_EQ(ran.of().deviceSum(0).bytes, 2 * kMiB);
  ASSERT_EQ(ran.effects.size(), 1U);
  EXPECT_EQ(ran.effects[0].what, What::kReserved);
  EXPECT_EQ(ran.effects[0].stack, 7U);
  EXPECT_EQ(ran.effects[0].plane, Plane::kDriver);
}

TEST(Ledger, ChargesARuntimeCallInWhichTheDriverWasNotSeen) {
  CallStream calls;
  calls.allocate(kDevice, 0x1000, 3 * kMiB).device(0).around(0);
  calls.free(kDevice, 0x1000).around(0);
  calls.allocate(kDevice, 0x2000, kMiB).device(0).around(0).code(2);
  Ran ran(calls);
  EXPECT_EQ(ran.of().sum(0, kDevice).bytes, 0U);
  EXPECT_EQ(ran.of().sum(0, kDevice).peak_bytes, 3 * kMiB);
  EXPECT_EQ(ran.of().counts().charged_at_runtime, 1U);
  EXPECT_EQ(ran.effects[0].plane, Plane::kRuntime);
  EXPECT_EQ(ran.of().sum(0, kDevice).failures, 1U);
}

// The record of the driver's call may be lost, or it was another function of the driver that was
// recorded inside: what the program got is what counts.
TEST(Ledger, ChargesARuntimeCallWhoseDriverCallIsMissing) {
  CallStream calls;
  calls.allocate(kDevice, 0x1000, kMiB).device(0).around(1);
  calls.allocate(kDevice, 0x9000000, kMiB).device(0);
  calls.add(Verb::kSet, kDevice).handle(0);
  calls.free(kDevice, 0x9000000).around(1);
  Ran ran(calls);
  EXPECT_EQ(ran.of().sum(0, kDevice).bytes, kMiB);
  EXPECT_EQ(ran.of().sum(0, kDevice).frees, 1U);
}

// Thread 2 gets the address again before thread 1's cudaFree has returned.
TEST(Ledger, DoesNotFreeWhatWasHandedOutAgainInsideTheRuntimesFree) {
  CallStream calls;
  calls.allocate(kDevice, 0x1000, kMiB).device(0).thread(1);
  calls.free(kDevice, 0x1000).thread(1);
  calls.allocate(kDevice, 0x1000, 2 * kMiB).device(0).thread(2);
  calls.free(kDevice, 0x1000).thread(1).around(2);
  Ran ran(calls);
  EXPECT_EQ(ran.of().sum(0, kDevice).bytes, 2 * kMiB);
}

TEST(Ledger, RecordsAFailureOnceAndNeverAsLive) {
  CallStream calls;
  calls.allocate(kDevice, 0, 5 * kMiB).device(0).code(2).stack(4);
  calls.allocate(kDevice, 0, 5 * kMiB).device(0).code(2).around(1);
  calls.free(kDevice, 0x77).code(1);
  Ran ran(calls);
  EXPECT_EQ(ran.of().sum(0, kDevice).bytes, 0U);
  EXPECT_EQ(ran.of().sum(0, kDevice).failures, 1U);
  EXPECT_EQ(ran.of().failuresByCode().at(2), 1U);
  EXPECT_EQ(ran.of().failuresByCode().at(1), 1U);
  ASSERT_EQ(ran.count(What::kFailure), 2U);
  EXPECT_EQ(ran.effects[0].size_bytes, 5 * kMiB);
  EXPECT_EQ(ran.effects[0].code, 2);
  EXPECT_EQ(ran.effects[0].stack, 4U);
}

TEST(Ledger, AFreeOfAnUnknownAddressIsOlderThanTheRecording) {
  CallStream calls;
  calls.free(kDevice, 0x5000);
  calls.release(0x99);
  calls.free(MemoryKind::kBlock, 0x6000);
  calls.free(kDevice, 0);  // legal, and nothing
  Ran ran(calls);
  EXPECT_EQ(ran.of().counts().frees_of_older, 2U);
  EXPECT_EQ(ran.of().counts().block_frees_of_older, 1U);
  ASSERT_EQ(ran.effects.size(), 1U);  // where it was, so that more follows from it
  EXPECT_EQ(ran.effects[0].what, What::kOlderFreed);
  EXPECT_EQ(ran.effects[0].address, 0x5000U);
}

TEST(Ledger, ASecondFreeIsCountedAndTakesNothing) {
  CallStream calls;
  calls.allocate(kDevice, 0x1000, kMiB).device(0);
  calls.free(kDevice, 0x1000);
  calls.free(kDevice, 0x1000);
  calls.allocate(MemoryKind::kBlock, 0x100, 10).device(0);
  calls.free(MemoryKind::kBlock, 0x100);
  calls.free(MemoryKind::kBlock, 0x100);
  Ran ran(calls);
  EXPECT_EQ(ran.of().counts().frees_again, 1U);
  EXPECT_EQ(ran.of().counts().block_frees_again, 1U);
  EXPECT_EQ(ran.of().counts().frees_of_older, 0U);
  EXPECT_EQ(ran.of().sum(0, kDevice).frees, 1U);
  EXPECT_EQ(ran.of().sum(0, kDevice).bytes, 0U);
}

// A pointer that is stale takes what lies there now, as it does in the driver.
TEST(Ledger, AStalePointerFreesWhatIsThereNow) {
  CallStream calls;
  calls.allocate(kDevice, 0x1000, kMiB).device(0);
  calls.free(kDevice, 0x1000);
  calls.allocate(kDevice, 0x1000, 4 * kMiB).device(0);
  calls.free(kDevice, 0x1000);
  Ran ran(calls);
  EXPECT_EQ(ran.of().sum(0, kDevice).bytes, 0U);
  EXPECT_EQ(ran.of().sum(0, kDevice).frees, 2U);
}

TEST(Ledger, WhatIsHandedOutOverLiveMemoryEndsIt) {
  CallStream calls;
  calls.allocate(kDevice, 0x100000, kMiB).device(0);
  calls.allocate(kDevice, 0x180000, kMiB).device(0);  // over its second half
  Ran ran(calls);
  EXPECT_EQ(ran.of().sum(0, kDevice).bytes, kMiB);
  EXPECT_EQ(ran.of().sum(0, kDevice).missed_frees, 1U);
  EXPECT_EQ(ran.count(What::kReturned, Cause::kMissed), 1U);
}

// The other thread's call returned first.
TEST(Ledger, AFreeThatBeganBeforeIsOfTheBlockBefore) {
  CallStream calls;
  calls.allocate(kDevice, 0x1000, kMiB).device(0).thread(1);
  calls.allocate(kDevice, 0x1000, 2 * kMiB).device(0).thread(2);
  calls.free(kDevice, 0x1000).thread(1).began(15);
  Ran ran(calls);
  EXPECT_EQ(ran.of().sum(0, kDevice).bytes, 2 * kMiB);
  EXPECT_EQ(ran.of().counts().frees_again, 0U);
}

// A handle is reused before the call that released it has returned.
TEST(Ledger, AReleaseThatBeganBeforeIsOfTheHandleBefore) {
  CallStream calls;
  calls.create(7, 2 * kMiB).device(0);
  calls.create(7, 4 * kMiB).device(0);
  calls.release(7).began(18);
  calls.allocate(MemoryKind::kArray, 0, kMiB).handle(0x70).device(0);
  calls.allocate(MemoryKind::kArray, 0, 3 * kMiB).handle(0x70).device(0);
  calls.free(MemoryKind::kArray, 0).handle(0x70).began(18);
  Ran ran(calls);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kPhysical).bytes, 4 * kMiB);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kArray).bytes, 3 * kMiB);
  calls.release(7);
  calls.free(MemoryKind::kArray, 0).handle(0x70);
  EXPECT_EQ(Ran(calls).of().deviceSum(0).bytes, 0U);
  EXPECT_EQ(Ran(calls).of().counts().frees_of_older, 0U);
}

// … and if nothing had it before, that is older than the recording.
TEST(Ledger, AFreeThatBeganBeforeAndOfNothingIsOfOlderMemory) {
  CallStream calls;
  calls.allocate(kDevice, 0x1000000, kMiB).device(0);
  calls.free(kDevice, 0x1000000).began(18);
  calls.create(7, 2 * kMiB).device(0);
  calls.release(7).began(18);
  Ran ran(calls);
  EXPECT_EQ(ran.of().deviceSum(0).bytes, 3 * kMiB);
  EXPECT_EQ(ran.of().counts().frees_of_older, 2U);
}

// An address is one thing at a time, whichever way the driver handed it out.
TEST(Ledger, MemoryAndMappingsEndEachOther) {
  CallStream calls;
  calls.allocate(kDevice, 0x1000000, 2 * kMiB).device(0);
  calls.create(7, 2 * kMiB).device(0);
  calls.map(0x1000000, 2 * kMiB, 7);  // its cuMemFree was not seen
  calls.release(7);
  Ran mapped(calls);
  EXPECT_EQ(mapped.of().deviceSum(0).bytes, 2 * kMiB);
  EXPECT_EQ(mapped.of().sum(0, kDevice).missed_frees, 1U);
  calls.allocate(kDevice, 0x1000000, kMiB).device(0);  // its cuMemUnmap was not seen
  Ran again(calls);
  EXPECT_EQ(again.of().deviceSum(0).bytes, 3 * kMiB) << "half of the mapping holds all of it";
  EXPECT_EQ(again.of().sum(0, kDevice).bytes, kMiB);
  EXPECT_EQ(again.of().liveRanges().size(), 2U);
}

TEST(Ledger, AnAddressInTwoProcessesIsTwoBlocks) {
  CallStream calls;
  calls.allocate(kDevice, 0x1000, kMiB).device(0);
  calls.allocate(kDevice, 0x1000, 2 * kMiB).device(0).process(1);
  calls.free(kDevice, 0x1000);
  Ran ran(calls);
  EXPECT_EQ(ran.of(0).sum(0, kDevice).bytes, 0U);
  EXPECT_EQ(ran.of(1).sum(0, kDevice).bytes, 2 * kMiB);
  EXPECT_EQ(ran.ledger.processes(), (std::vector<uint32_t>{0, 1}));
}

TEST(Ledger, TheEndOfAProcessFreesImplicitlyAndSaysWhoHeldIt) {
  CallStream calls;
  calls.allocate(kDevice, 0x1000, kMiB).device(0).stack(3);
  calls.allocate(kDevice, 0x900000, 2 * kMiB).device(0).stack(3);
  calls.allocate(MemoryKind::kBlock, 0x1000, 100).device(0);
  calls.create(5, 4 * kMiB).device(0).stack(8);
  calls.map(0x7000000, 4 * kMiB, 5);
  calls.allocate(kDevice, 0x1000, kMiB).device(0).process(1);
  Ran ran(calls);
  ran.ledger.endProcess(0, calls.nowNs() + 1);
  EXPECT_EQ(ran.of().deviceSum(0).bytes, 0U);
  EXPECT_EQ(ran.of().sum(0, kDevice).implicit_frees, 2U);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kPhysical).implicit_frees, 1U);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kBlock).implicit_frees, 1U);
  const std::vector<HeldBy>& unfreed = ran.of().unfreedAtExit();
  ASSERT_EQ(unfreed.size(), 2U);
  EXPECT_EQ(unfreed[0].stack, 8U);
  EXPECT_EQ(unfreed[0].bytes, 4 * kMiB);
  EXPECT_EQ(unfreed[1].stack, 3U);
  EXPECT_EQ(unfreed[1].bytes, 3 * kMiB);
  EXPECT_EQ(unfreed[1].count, 2U);
  EXPECT_EQ(ran.count(What::kReturned, Cause::kImplicit), 3U);
  EXPECT_EQ(ran.of(1).sum(0, kDevice).bytes, kMiB);
}

TEST(Ledger, ADeviceResetTakesEverythingOfThatDevice) {
  CallStream calls;
  calls.allocate(kDevice, 0x1000, kMiB).device(0);
  calls.allocate(kDevice, 0x900000, kMiB).device(1);
  calls.allocate(MemoryKind::kPool, 0xa00000, kMiB).device(0);
  calls.create(5, 4 * kMiB).device(0);
  calls.map(0x7000000, 4 * kMiB, 5);
  calls.create(6, 2 * kMiB).device(0);
  calls.add(Verb::kReset, MemoryKind::kContext).device(0);
  Ran ran(calls);
  EXPECT_EQ(ran.of().deviceSum(0).bytes, 0U);
  EXPECT_EQ(ran.of().deviceSum(0).implicit_frees, 4U);
  EXPECT_EQ(ran.of().deviceSum(1).bytes, kMiB);
  EXPECT_EQ(ran.count(What::kUnmapped, Cause::kImplicit), 1U);
}

TEST(Ledger, ARuntimeResetOfAThreadsDeviceCountsWithTheDriverInside) {
  CallStream calls;
  calls.add(Verb::kSet, kDevice).handle(1).around(0);
  calls.allocate(kDevice, 0x1000, kMiB);  // on the thread's device
  calls.add(Verb::kReset, MemoryKind::kContext).handle(1);
  calls.add(Verb::kReset, kDevice).around(1);
  Ran ran(calls);
  EXPECT_EQ(ran.of().sum(1, kDevice).peak_bytes, kMiB);
  EXPECT_EQ(ran.of().sum(1, kDevice).bytes, 0U);
  EXPECT_EQ(ran.of().sum(1, kDevice).implicit_frees, 1U);
}

TEST(Ledger, AContextTakesItsMemoryButNoPoolsAndNoPhysicalMemory) {
  CallStream calls;
  calls.add(Verb::kCreate, MemoryKind::kContext).handle(0xc1).device(0);
  calls.allocate(kDevice, 0x1000, kMiB);
  calls.add(Verb::kCreate, MemoryKind::kContext).handle(0xc2).device(0);
  calls.allocate(kDevice, 0x900000, 2 * kMiB);
  calls.add(Verb::kSet, MemoryKind::kContext).handle(0xc1);
  calls.allocate(MemoryKind::kPinnedHost, 0xc00000, 2 * kMiB);
  calls.allocate(MemoryKind::kPool, 0xf00000, 8 * kMiB);
  calls.create(5, 16 * kMiB).device(0);
  calls.add(Verb::kPush, MemoryKind::kContext).handle(0xc2);
  calls.allocate(kDevice, 0x5000000, 32 * kMiB);
  calls.add(Verb::kPop, MemoryKind::kContext);
  calls.allocate(kDevice, 0x9000000, 64 * kMiB);
  calls.add(Verb::kDestroy, MemoryKind::kContext).handle(0xc1);
  Ran ran(calls);
  // The first two were handed out before the first switch was seen: with one context alone it is
  // certain whose they are, with two it is not.
  EXPECT_EQ(ran.of().sum(0, kDevice).bytes, (2 + 32) * kMiB);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kPinnedHost).bytes, 0U);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kPool).bytes, 8 * kMiB);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kPhysical).bytes, 16 * kMiB);
}

TEST(Ledger, AContextWithoutAHandleEndsItsMemoryOnce) {
  CallStream calls;
  calls.add(Verb::kCreate, MemoryKind::kContext).device(0);  // which one was not readable
  calls.allocate(kDevice, 0x1000000, kMiB).device(0);
  calls.add(Verb::kDestroy, MemoryKind::kContext);
  for (uint64_t i = 1; i < 4; ++i) calls.allocate(kDevice, 0x1000000 * i, kMiB).device(0);
  for (uint64_t i = 1; i < 4; ++i) calls.free(kDevice, 0x1000000 * i);
  Ran ran(calls);
  EXPECT_EQ(ran.of().sum(0, kDevice).implicit_frees, 1U);
  EXPECT_EQ(ran.of().sum(0, kDevice).frees, 3U);
  EXPECT_EQ(ran.of().sum(0, kDevice).live, 0U);
  EXPECT_EQ(ran.of().deviceSum(0).bytes, 0U);
}

TEST(Ledger, APrimaryContextGoesWithItsLastRelease) {
  CallStream calls;
  calls.add(Verb::kRetain, MemoryKind::kContext).handle(0xc1).device(0);
  calls.add(Verb::kRetain, MemoryKind::kContext).handle(0xc1).device(0);
  calls.allocate(kDevice, 0x1000, kMiB).device(0);
  calls.add(Verb::kRelease, MemoryKind::kContext).device(0);
  Ran once(calls);
  EXPECT_EQ(once.of().sum(0, kDevice).bytes, kMiB);
  calls.add(Verb::kRelease, MemoryKind::kContext).device(0);
  Ran twice(calls);
  EXPECT_EQ(twice.of().sum(0, kDevice).bytes, 0U);
}

TEST(Ledger, PhysicalMemoryIsChargedOnceAndGoesWithItsLastMappingAndHandle) {
  CallStream calls;
  calls.create(5, 4 * kMiB).device(2);
  calls.map(0x7000000, 4 * kMiB, 5);
  calls.map(0x9000000, 4 * kMiB, 5);  // the same memory at two places
  calls.release(5);
  calls.unmap(0x7000000, 4 * kMiB);
  Ran before(calls);
  EXPECT_EQ(before.of().sum(2, MemoryKind::kPhysical).bytes, 4 * kMiB);
  EXPECT_EQ(before.of().unmappedBytes(), 0U);
  calls.unmap(0x9000000, 4 * kMiB);
  Ran after(calls);
  EXPECT_EQ(after.of().sum(2, MemoryKind::kPhysical).bytes, 0U);
  EXPECT_EQ(after.of().sum(2, MemoryKind::kPhysical).frees, 1U);
  EXPECT_EQ(after.of().deviceSum(2).peak_bytes, 4 * kMiB);
  EXPECT_EQ(after.count(What::kMapped), 2U);
  EXPECT_EQ(after.count(What::kUnmapped), 2U);
}

TEST(Ledger, ARetainedHandleHoldsPhysicalMemory) {
  CallStream calls;
  calls.create(5, 2 * kMiB).device(0);
  calls.map(0x7000000, 2 * kMiB, 5);
  calls.release(5);
  calls.add(Verb::kRetain, MemoryKind::kPhysical).handle(9);
  Ran unrelated(calls);  // of an address that nothing is mapped at
  EXPECT_EQ(unrelated.of().sum(0, MemoryKind::kPhysical).bytes, 2 * kMiB);

  CallStream retained;
  retained.create(5, 2 * kMiB).device(0);
  retained.map(0x7000000, 2 * kMiB, 5);
  retained.release(5);
  MemoryCall retain;
  retain.verb = Verb::kRetain;
  retain.kind = MemoryKind::kPhysical;
  retain.handle = 9;
  retain.address = 0x7000000 + kMiB;
  Ran ran(retained);
  ran.ledger.take(retain);
  CallStream rest;
  rest.unmap(0x7000000, 2 * kMiB);
  ran.ledger.take(rest.all()[0]);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kPhysical).bytes, 2 * kMiB);
  EXPECT_EQ(ran.of().unmappedBytes(), 2 * kMiB);
  CallStream last;
  last.release(9);
  MemoryCall release = last.all()[0];
  release.start_ns = release.end_ns = retained.nowNs() + 100;
  ran.ledger.take(release);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kPhysical).bytes, 0U);
}

TEST(Ledger, APartialUnmapLeavesTheRestMapped) {
  CallStream calls;
  calls.create(5, 6 * kMiB).device(0);
  calls.map(0x10000000, 6 * kMiB, 5);
  calls.release(5);
  calls.unmap(0x10000000 + 2 * kMiB, 2 * kMiB);
  Ran ran(calls);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kPhysical).bytes, 6 * kMiB);
  CallStream rest;
  rest.unmap(0x10000000, 2 * kMiB);
  rest.unmap(0x10000000 + 4 * kMiB, 2 * kMiB);
  for (const MemoryCall& call : rest.all()) ran.ledger.take(call);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kPhysical).bytes, 0U);
  EXPECT_EQ(ran.count(What::kUnmapped), 3U);
}

TEST(Ledger, AddressesAloneAreNeverCharged) {
  CallStream calls;
  calls.allocate(MemoryKind::kAddressRange, 0x7000000, 1024 * kMiB).device(0);
  calls.free(MemoryKind::kAddressRange, 0x7000000).bytes(1024 * kMiB);
  Ran ran(calls);
  EXPECT_EQ(ran.of().deviceSum(0).peak_bytes, 0U);
  EXPECT_TRUE(ran.effects.empty());
}

TEST(Ledger, MappingsOfOneReservationAreOnePlace) {
  CallStream calls;
  calls.allocate(MemoryKind::kAddressRange, 0x10000000, 64 * kMiB).device(0);
  calls.create(5, 2 * kMiB).device(0);
  calls.create(6, 2 * kMiB).device(0);
  calls.map(0x10000000, 2 * kMiB, 5);
  calls.map(0x10000000 + 2 * kMiB, 2 * kMiB, 6);
  calls.allocate(MemoryKind::kBlock, 0x10000000 + kMiB, 2 * kMiB).device(0);
  Ran ran(calls);
  ASSERT_EQ(ran.count(What::kMapped), 2U);
  std::vector<uint64_t> places;
  for (const Effect& effect : ran.effects) {
    if (effect.what == What::kMapped || effect.what == What::kBlock) places.push_back(effect.place);
  }
  EXPECT_EQ(places, std::vector<uint64_t>(3, places[0]));
  EXPECT_NE(places[0], 0U);
}

TEST(Ledger, AliasesAreNeverAdded) {
  CallStream calls;
  calls.allocate(MemoryKind::kAlias, 0x1000, 0).device(0);    // cuIpcOpenMemHandle
  calls.add(Verb::kRetain, MemoryKind::kAlias).handle(0x55);  // imported
  calls.add(Verb::kAllocate, MemoryKind::kAlias).handle(0x66).bytes(2 * kMiB);  // multicast
  calls.map(0x7000000, 2 * kMiB, 0x55);
  calls.unmap(0x7000000, 2 * kMiB);
  calls.release(0x55);
  calls.free(MemoryKind::kAlias, 0x1000);
  calls.allocate(MemoryKind::kAlias, 0x3000, 0);
  calls.free(kDevice, 0x3000);  // a mapped buffer goes by cuMemFree
  Ran ran(calls);
  EXPECT_EQ(ran.of().deviceSum(0).peak_bytes, 0U);
  EXPECT_EQ(ran.of().deviceSum(kUnknownDevice).peak_bytes, 0U);
  EXPECT_EQ(ran.of().counts().aliases, 4U);
  EXPECT_EQ(ran.of().counts().frees_of_older, 0U);
  for (const Effect& effect : ran.effects) EXPECT_TRUE(effect.is_alias);
}

TEST(Ledger, APoolShowsWhatIsUsedAndTheMostSinceItWasTrimmed) {
  CallStream calls;
  calls.add(Verb::kCreate, MemoryKind::kPoolItself).handle(0x9).device(0);
  calls.allocate(MemoryKind::kPool, 0x1000000, 8 * kMiB).device(0).handle(0x9);
  calls.allocate(MemoryKind::kPool, 0x2000000, 4 * kMiB).device(0).handle(0x9);
  calls.allocate(MemoryKind::kPool, 0x3000000, kMiB).device(0);  // the device's default pool
  calls.free(MemoryKind::kPool, 0x1000000);
  Ran ran(calls);
  const PoolSum& pool = ran.of().pools().at({0x9, 0});
  EXPECT_EQ(pool.used_bytes, 4 * kMiB);
  EXPECT_EQ(pool.most_used_bytes, 12 * kMiB);
  EXPECT_EQ(ran.of().pools().at({0, 0}).used_bytes, kMiB);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kPool).bytes, 5 * kMiB);
  calls.add(Verb::kTrim, MemoryKind::kPoolItself).handle(0x9).bytes(UINT64_MAX);
  calls.add(Verb::kDestroy, MemoryKind::kPoolItself).handle(0x9);
  calls.free(kDevice, 0x2000000);  // cuMemFree takes pool memory, too
  Ran trimmed(calls);
  EXPECT_EQ(trimmed.of().pools().at({0x9, 0}).most_used_bytes, 4 * kMiB);
  EXPECT_EQ(trimmed.of().pools().at({0x9, 0}).used_bytes, 0U);
  EXPECT_TRUE(trimmed.of().pools().at({0x9, 0}).is_destroyed);
}

TEST(Ledger, APoolWithAHandleFromBeforeKeepsWhatTheOldOneHandedOut) {
  CallStream calls;
  auto pool = [&](Verb verb) { calls.add(verb, MemoryKind::kPoolItself).handle(5).device(0); };
  pool(Verb::kCreate);
  calls.allocate(MemoryKind::kPool, 0x1000000, 3 * kMiB).handle(5).device(0);
  pool(Verb::kDestroy);
  pool(Verb::kCreate);
  EXPECT_EQ(Ran(calls).of().pools().at({5, 0}).used_bytes, 3 * kMiB);
  calls.free(MemoryKind::kPool, 0x1000000);
  Ran ran(calls);
  EXPECT_EQ(ran.of().pools().at({5, 0}).used_bytes, 0U);
  EXPECT_EQ(ran.of().pools().at({5, 0}).most_used_bytes, 3 * kMiB);
  EXPECT_FALSE(ran.of().pools().at({5, 0}).is_destroyed);
}

// In a hostile file: sums never overflow, and rows beyond are counted as invalid.
TEST(Ledger, NoSumOverflows) {
  CallStream calls;
  constexpr uint64_t kMost = uint64_t{1} << 50;
  constexpr uint64_t kTimes = 5000;
  for (uint64_t i = 1; i <= kTimes; ++i) calls.allocate(kDevice, 0, kMost);  // without an address
  for (uint64_t i = 1; i <= kTimes; ++i) {
    calls.create(i, kMost).device(0);
    calls.map(i * kMost, kMost, 1);
  }
  Ran ran(calls);
  EXPECT_EQ(ran.of().deviceSum(0).bytes, uint64_t{1} << 60);
  EXPECT_EQ(ran.of().counts().bytes_without_address, uint64_t{1} << 60);
  EXPECT_EQ(ran.of().counts().impossible, 2 * (kTimes - 1024));
  uint64_t mapped = 0;
  for (const LiveRange& range : ran.of().liveRanges()) mapped += range.size_bytes;
  EXPECT_EQ(mapped, uint64_t{1} << 60);
}

// Older memory is charged up to the end of its mappings: also a small mapping far after its begin.
TEST(Ledger, NoSumOfOlderMemoryOverflows) {
  CallStream calls;
  constexpr uint64_t kTimes = 20'000;  // of 1 PiB each: 2^64 bytes and more
  for (uint64_t i = 1; i <= kTimes; ++i)
    calls.map(i * 0x1000, 0x1000, i).device(0).offset(uint64_t{1} << 50);
  calls.allocate(kDevice, uint64_t{1} << 40, kMiB).device(0);
  Ran ran(calls);
  EXPECT_EQ(ran.of().counts().older_physical, kTimes);
  EXPECT_EQ(ran.of().deviceSum(0).bytes, uint64_t{1} << 60);
  EXPECT_EQ(ran.of().deviceSum(0).peak_bytes, uint64_t{1} << 60);
  EXPECT_EQ(ran.of().counts().impossible, 1U);
}

TEST(Ledger, HostMemoryIsASumOfItsOwn) {
  CallStream calls;
  calls.allocate(MemoryKind::kPinnedHost, 0x1000000, 8 * kMiB).device(0);
  calls.allocate(MemoryKind::kRegisteredHost, 0x5000000, 3 * kMiB).device(0);
  calls.free(kDevice, 0x5000000);  // it is not the driver's to free
  Ran ran(calls);
  EXPECT_EQ(ran.of().deviceSum(0).bytes, 0U);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kPinnedHost).bytes, 8 * kMiB);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kRegisteredHost).bytes, 3 * kMiB);
  EXPECT_EQ(ran.of().counts().frees_of_older, 1U);
  calls.free(MemoryKind::kPinnedHost, 0x9000000);  // older, but nothing of a device
  EXPECT_EQ(Ran(calls).of().counts().frees_of_older, 1U);
  EXPECT_EQ(Ran(calls).of().counts().host_frees_of_older, 1U);
  calls.free(MemoryKind::kRegisteredHost, 0x5000000);
  calls.free(MemoryKind::kPinnedHost, 0x1000000);
  Ran freed(calls);
  EXPECT_EQ(freed.of().sum(0, MemoryKind::kRegisteredHost).bytes, 0U);
  EXPECT_EQ(freed.of().sum(0, MemoryKind::kPinnedHost).bytes, 0U);
}

TEST(Ledger, ArraysAreChargedByHandle) {
  CallStream calls;
  calls.add(Verb::kAllocate, MemoryKind::kArray).handle(0x55).bytes(kMiB).device(0);
  calls.add(Verb::kAllocate, MemoryKind::kArray).handle(0x66).bytes(kMiB).device(0);
  calls.add(Verb::kAllocate, MemoryKind::kArray).handle(0x67).around(1).device(0);  // the runtime's
  calls.add(Verb::kFree, MemoryKind::kArray).handle(0x55);
  Ran ran(calls);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kArray).bytes, kMiB);
  EXPECT_EQ(ran.of().deviceSum(0).peak_bytes, 2 * kMiB);
}

TEST(Ledger, GraphMemoryIsPromisedNotCharged) {
  CallStream calls;
  calls.allocate(MemoryKind::kGraph, 0x1000000, 8 * kMiB).device(0);
  calls.allocate(MemoryKind::kGraph, 0x1000000, 4 * kMiB).device(0);  // another graph, same place
  Ran ran(calls);
  EXPECT_EQ(ran.of().deviceSum(0).bytes, 0U);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kGraph).bytes, 4 * kMiB);
  calls.free(kDevice, 0x1000000);
  Ran freed(calls);
  EXPECT_EQ(freed.of().sum(0, MemoryKind::kGraph).bytes, 0U);
  EXPECT_EQ(freed.of().counts().frees_of_older, 0U);
}

TEST(Ledger, ABlockTellsTheDeviceOfTheMemoryItLiesIn) {
  CallStream calls;
  calls.allocate(kDevice, 0x1000000, 20 * kMiB);
  calls.allocate(MemoryKind::kBlock, 0x1000000 + kMiB, kMiB).device(3);
  Ran ran(calls);
  EXPECT_EQ(ran.of().sum(kUnknownDevice, kDevice).bytes, 0U);
  EXPECT_EQ(ran.of().sum(3, kDevice).bytes, 20 * kMiB);
  EXPECT_EQ(ran.of().deviceSum(3).bytes, 20 * kMiB);
  EXPECT_EQ(ran.of().sum(3, MemoryKind::kBlock).bytes, kMiB);
  ASSERT_EQ(ran.count(What::kPlaced), 1U);
  EXPECT_EQ(ran.of().devices(), (std::vector<int32_t>{kUnknownDevice, 3}));
}

TEST(Ledger, BlocksInMemoryThatIsGivenBackHaveEnded) {
  CallStream calls;
  calls.allocate(kDevice, 0x1000000, 20 * kMiB).device(0);
  calls.allocate(MemoryKind::kBlock, 0x1000000, kMiB).device(0);
  calls.allocate(MemoryKind::kBlock, 0x1000000 + kMiB, kMiB).device(0);
  calls.free(kDevice, 0x1000000);
  Ran ran(calls);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kBlock).bytes, 0U);
  EXPECT_EQ(ran.of().sum(0, MemoryKind::kBlock).missed_frees, 2U);
}

TEST(Ledger, WhatCannotBeIsCountedAndIgnored) {
  CallStream calls;
  calls.allocate(kDevice, UINT64_MAX - 10, 100).device(0);
  calls.allocate(kDevice, 0x1000, UINT64_MAX).device(0);
  calls.map(UINT64_MAX, UINT64_MAX, 1);
  calls.allocate(kDevice, 0, kMiB).device(0);  // the address could not be read
  Ran ran(calls);
  EXPECT_EQ(ran.of().counts().impossible, 3U);
  EXPECT_EQ(ran.of().counts().without_address, 1U);
  EXPECT_EQ(ran.of().counts().bytes_without_address, kMiB);
  EXPECT_EQ(ran.of().deviceSum(0).bytes, 0U);
}

TEST(Ledger, SaysWhoHoldsHowMuch) {
  CallStream calls;
  calls.allocate(kDevice, 0x1000000, kMiB).device(0).stack(1);
  calls.allocate(kDevice, 0x2000000, 3 * kMiB).device(0).stack(2);
  calls.allocate(kDevice, 0x3000000, kMiB).device(0).stack(1);
  Ran ran(calls);
  std::vector<HeldBy> held = ran.of().heldByStack();
  ASSERT_EQ(held.size(), 2U);
  EXPECT_EQ(held[0].stack, 2U);
  EXPECT_EQ(held[1].bytes, 2 * kMiB);
  EXPECT_EQ(held[1].count, 2U);
}

TEST(Ledger, TellsWhatIsLiveByAddressAndWhatIsOfTheFramework) {
  CallStream calls;
  calls.allocate(kDevice, 0x9000000, 2 * kMiB).device(0);
  calls.allocate(kDevice, 0x1000000, kMiB).device(0);
  calls.allocate(MemoryKind::kBlock, 0x9000000 + 512, 300).device(0);
  Ran ran(calls);
  std::vector<LiveRange> ranges = ran.of().liveRanges();
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[0].address, 0x1000000U);
  EXPECT_FALSE(ranges[0].of_framework);
  EXPECT_EQ(ranges[1].size_bytes, 2 * kMiB);
  EXPECT_TRUE(ranges[1].of_framework);
  ASSERT_EQ(ran.of().liveBlocks().size(), 1U);
  EXPECT_EQ(ran.of().liveBlocks()[0].size_bytes, 300U);
}

TEST(Ledger, ASegmentOfTheFrameworkStaysItsOwnWhenItsBlocksAreGone) {
  CallStream calls;
  calls.allocate(kDevice, 0x1000000, kMiB).device(0);
  calls.allocate(MemoryKind::kBlock, 0x1000000, 300).device(0);
  calls.free(MemoryKind::kBlock, 0x1000000);
  Ran ran(calls);
  ASSERT_EQ(ran.of().liveRanges().size(), 1U);
  EXPECT_TRUE(ran.of().liveRanges()[0].of_framework);
}

TEST(Ledger, NamesGoThereAndBack) {
  for (size_t i = 0; i < kMemoryKinds; ++i) {
    auto kind = static_cast<MemoryKind>(i);
    EXPECT_EQ(memoryKindNamed(name(kind)), kind);
  }
  EXPECT_EQ(verbNamed("pop"), Verb::kPop);
  EXPECT_EQ(planeNamed("framework"), Plane::kFramework);
  EXPECT_FALSE(verbNamed("").has_value());
}

}  // namespace
}  // namespace tidegauge::model
