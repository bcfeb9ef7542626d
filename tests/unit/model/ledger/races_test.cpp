// Two threads: the driver hands out again what another thread is still freeing. Calls come by
// their ends, so the free comes after the allocation that took over its place.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "model/ledger/ledger.h"
#include "model/live/live_book.h"
#include "support/bytes.h"
#include "support/call_stream.h"

namespace tidegauge::model {
namespace {

using testing::CallStream;

constexpr auto kPlain = MemoryKind::kDevice;

const MemorySum& sumOf(const Ledger& ledger, MemoryKind kind) {
  return ledger.find(0)->sum(0, kind);
}

void takeAll(Ledger& ledger, const CallStream& calls) {
  for (const MemoryCall& call : calls.all()) ledger.take(call);
}

TEST(Races, AFreeThatIsOvertakenIsCountedWhenItReturns) {
  CallStream calls;
  calls.allocate(kPlain, 0x1000, kMiB).device(0).thread(1);      // ends at 10
  calls.allocate(kPlain, 0x1000, 2 * kMiB).device(0).thread(2);  // 20
  calls.free(kPlain, 0x1000).thread(1).began(15);                // 15 … 30: of the first
  calls.free(kPlain, 0x1000).thread(2);                          // 35 … 40: of the second
  Ledger ledger;
  takeAll(ledger, calls);
  EXPECT_EQ(sumOf(ledger, kPlain).frees, 2U);
  EXPECT_EQ(sumOf(ledger, kPlain).missed_frees, 0U);
  EXPECT_EQ(sumOf(ledger, kPlain).bytes, 0U);
  EXPECT_EQ(ledger.find(0)->deviceSum(0).frees, 2U);
  EXPECT_EQ(ledger.find(0)->counts().frees_again, 0U);
  EXPECT_EQ(ledger.find(0)->counts().frees_of_older, 0U);
}

TEST(Races, SeveralFreesOfOneAddressAreUnderWayAtOnce) {
  CallStream calls;
  calls.allocate(kPlain, 0x1000, kMiB).device(0).thread(1);  // 10
  calls.allocate(kPlain, 0x1000, kMiB).device(0).thread(2);  // 20
  calls.allocate(kPlain, 0x1000, kMiB).device(0).thread(3);  // 30
  calls.free(kPlain, 0x1000).thread(2).began(18);            // 22 … 40
  calls.free(kPlain, 0x1000).thread(1).began(38);            // 12 … 50
  Ledger ledger;
  takeAll(ledger, calls);
  EXPECT_EQ(sumOf(ledger, kPlain).frees, 2U);
  EXPECT_EQ(sumOf(ledger, kPlain).missed_frees, 0U);
  EXPECT_EQ(sumOf(ledger, kPlain).bytes, kMiB);
  EXPECT_EQ(ledger.find(0)->counts().frees_of_older, 0U);
}

// The larger block covers the place of the smaller one, at another address.
TEST(Races, TheNextBlockMayBeginElsewhere) {
  CallStream calls;
  calls.allocate(kPlain, 0x200000, kMiB).device(0).thread(1);
  calls.allocate(kPlain, 0x100000, 4 * kMiB).device(0).thread(2);
  calls.free(kPlain, 0x200000).thread(1).began(15);
  Ledger ledger;
  takeAll(ledger, calls);
  EXPECT_EQ(sumOf(ledger, kPlain).frees, 1U);
  EXPECT_EQ(sumOf(ledger, kPlain).bytes, 4 * kMiB);
  EXPECT_EQ(ledger.find(0)->counts().frees_again, 0U);
}

TEST(Races, AFreeWhoseRecordWasLostStaysMissed) {
  CallStream calls;
  calls.allocate(kPlain, 0x1000, kMiB).device(0);
  calls.allocate(kPlain, 0x1000, kMiB).device(0);
  calls.free(kPlain, 0x1000);  // began after the second: it frees that one
  Ledger ledger;
  takeAll(ledger, calls);
  EXPECT_EQ(sumOf(ledger, kPlain).frees, 1U);
  EXPECT_EQ(sumOf(ledger, kPlain).missed_frees, 1U);
}

TEST(Races, HandlesAreHandedOutAgainLikeAddresses) {
  CallStream calls;
  calls.create(7, 2 * kMiB).device(0);
  calls.create(7, 4 * kMiB).device(0);
  calls.release(7).began(18);
  calls.allocate(MemoryKind::kArray, 0, kMiB).handle(0x70).device(0);
  calls.allocate(MemoryKind::kArray, 0, 3 * kMiB).handle(0x70).device(0);
  calls.free(MemoryKind::kArray, 0).handle(0x70).began(18);
  Ledger ledger;
  takeAll(ledger, calls);
  EXPECT_EQ(sumOf(ledger, MemoryKind::kPhysical).frees, 1U);
  EXPECT_EQ(sumOf(ledger, MemoryKind::kArray).frees, 1U);
  EXPECT_EQ(ledger.find(0)->deviceSum(0).missed_frees, 0U);
}

// A mapping keeps the memory of a handle that is gone: the release frees nothing.
TEST(Races, AReleaseOfWhatIsStillMappedFreesNothing) {
  CallStream calls;
  calls.create(7, 2 * kMiB).device(0);
  calls.map(0x100000, 2 * kMiB, 7);
  calls.create(7, 4 * kMiB).device(0);
  calls.release(7).began(18);
  Ledger ledger;
  takeAll(ledger, calls);
  EXPECT_EQ(sumOf(ledger, MemoryKind::kPhysical).frees, 0U);
  EXPECT_EQ(sumOf(ledger, MemoryKind::kPhysical).bytes, 6 * kMiB);
}

TEST(Races, ARangeOfAddressesIsReservedAgain) {
  CallStream calls;
  calls.allocate(MemoryKind::kAddressRange, 0x100000, 8 * kMiB);
  calls.allocate(MemoryKind::kAddressRange, 0x100000, 4 * kMiB);
  calls.free(MemoryKind::kAddressRange, 0x100000).began(18);
  calls.create(7, 2 * kMiB).device(0);
  calls.map(0x100000, 2 * kMiB, 7);
  calls.map(0x300000, 2 * kMiB, 7);
  Ledger ledger;
  takeAll(ledger, calls);
  EXPECT_EQ(ledger.find(0)->liveRanges().size(), 1U) << "both pieces are in one reservation";
}

TEST(Races, AContextThatIsMadeWhileTheOneBeforeItEnds) {
  CallStream calls;
  calls.add(Verb::kCreate, MemoryKind::kContext).handle(0x55).device(0).thread(1);  // 10
  calls.add(Verb::kSet, MemoryKind::kContext).handle(0x55).thread(1);               // 20
  calls.allocate(kPlain, 0x1000, kMiB).device(0).thread(1);                         // 30
  calls.add(Verb::kCreate, MemoryKind::kContext).handle(0x55).device(0).thread(2);  // 40
  calls.allocate(kPlain, 0x9000000, 2 * kMiB).device(0).thread(2);                  // 50
  calls.add(Verb::kDestroy, MemoryKind::kContext).handle(0x55).device(0).thread(1).began(28);
  Ledger ledger;
  takeAll(ledger, calls);
  EXPECT_EQ(sumOf(ledger, kPlain).bytes, 2 * kMiB);
  EXPECT_EQ(sumOf(ledger, kPlain).implicit_frees, 1U);
}

// Threads allocate and free blocks of one size from a driver that hands out the lowest address
// first. Each free takes effect at once and returns at a random later time.
TEST(Races, CountsEqualTheTruthUnderStress) {
  std::mt19937 random(29);
  std::vector<MemoryCall> calls;
  std::vector<uint64_t> free_places;
  std::vector<std::pair<int64_t, uint64_t>> held;  // from when, where
  uint64_t next_place = 0x100000, allocations = 0, frees = 0;
  for (int64_t now = 1000; now < 201'000; now += 10) {
    MemoryCall call;
    call.device = 0;
    call.kind = kPlain;
    if (held.empty() || (random() % 2 == 0 && held.size() < 16)) {
      call.address = next_place;
      if (free_places.empty()) {
        next_place += 4096;
      } else {
        call.address = free_places.back();
        free_places.pop_back();
      }
      call.verb = Verb::kAllocate;
      call.size_bytes = 4096;
      call.start_ns = now - 5;
      call.end_ns = now;
      held.emplace_back(now, call.address);
      ++allocations;
    } else {
      size_t which = random() % held.size();
      call.verb = Verb::kFree;
      call.address = held[which].second;
      call.start_ns = now;
      call.end_ns = now + 1 + random() % 400;
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
      free_places.push_back(call.address);
      ++frees;
    }
    calls.push_back(call);
  }
  std::stable_sort(calls.begin(), calls.end(),
                   [](const MemoryCall& a, const MemoryCall& b) { return a.end_ns < b.end_ns; });
  LiveBook book;
  size_t overtaken = 0;
  Ledger ledger([&](const Effect& effect) {
    overtaken += effect.what == What::kFreeFound;
    book.take(effect);
  });
  for (const MemoryCall& call : calls) ledger.take(call);
  EXPECT_GT(overtaken, 1000U) << "the test has no races";
  EXPECT_EQ(sumOf(ledger, kPlain).allocations, allocations);
  EXPECT_EQ(sumOf(ledger, kPlain).frees, frees);
  EXPECT_EQ(sumOf(ledger, kPlain).missed_frees, 0U);
  EXPECT_EQ(sumOf(ledger, kPlain).live, held.size());
  EXPECT_EQ(ledger.find(0)->counts().frees_again, 0U);
  EXPECT_EQ(ledger.find(0)->counts().frees_of_older, 0U);
  LiveSnapshot look = book.look(ledger, {}, {}, {});
  ASSERT_EQ(look.processes.size(), 1U);
  EXPECT_EQ(look.processes[0].frees, frees);
}

}  // namespace
}  // namespace tidegauge::model
