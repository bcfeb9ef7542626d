// Memory is on the device that its pool or stream is of, whatever the thread is on.
#include <gtest/gtest.h>

#include "model/ledger/ledger.h"
#include "support/bytes.h"
#include "support/call_stream.h"

namespace tidegauge::model {
namespace {

using testing::CallStream;

constexpr auto kPool = MemoryKind::kPool;

Ledger& taken(Ledger& ledger, const CallStream& calls) {
  for (const MemoryCall& call : calls.all()) ledger.take(call);
  return ledger;
}

TEST(DeviceHandles, MemoryOfAPoolIsOnThePoolsDevice) {
  CallStream calls;
  calls.add(Verb::kCreate, MemoryKind::kPoolItself).handle(0x50).device(1);
  calls.add(Verb::kRetain, MemoryKind::kPoolItself).handle(0x60).device(2);
  calls.allocate(kPool, 0x1000, kMiB).handle(0x50).device(0);
  calls.allocate(kPool, 0x9000000, 2 * kMiB).handle(0x60).device(0);
  calls.allocate(kPool, 0xa000000, 3 * kMiB).handle(0x70).device(0);  // from before the recording
  calls.allocate(kPool, 0, 8 * kMiB).handle(0x50).device(0).code(2);
  Ledger ledger;
  const ProcessLedger& it = *taken(ledger, calls).find(0);
  EXPECT_EQ(it.sum(0, kPool).bytes, 3 * kMiB);
  EXPECT_EQ(it.sum(1, kPool).bytes, kMiB);
  EXPECT_EQ(it.sum(2, kPool).bytes, 2 * kMiB);
  EXPECT_EQ(it.sum(1, kPool).failures, 1U) << "refused by the pool's device";
  EXPECT_EQ(it.pools().at({0x50, 1}).used_bytes, kMiB);
}

TEST(DeviceHandles, WithoutAPoolMemoryIsOnTheStreamsDevice) {
  CallStream calls;
  calls.add(Verb::kCreate, MemoryKind::kStream).handle(0x900).device(1);
  calls.allocate(kPool, 0x1000, kMiB).stream(0x900).device(0);
  calls.allocate(kPool, 0x9000000, 2 * kMiB).stream(2).device(0);  // the thread's default stream
  calls.add(Verb::kCreate, MemoryKind::kPoolItself).handle(0x50).device(3);
  calls.allocate(kPool, 0xa000000, 4 * kMiB).stream(0x900).handle(0x50).device(0);
  Ledger ledger;
  const ProcessLedger& it = *taken(ledger, calls).find(0);
  EXPECT_EQ(it.sum(1, kPool).bytes, kMiB);
  EXPECT_EQ(it.sum(0, kPool).bytes, 2 * kMiB);
  EXPECT_EQ(it.sum(3, kPool).bytes, 4 * kMiB) << "a pool counts before a stream";
  EXPECT_EQ(it.deviceOfStream(0x900), 1);
  EXPECT_EQ(it.deviceOfStream(0), kUnknownDevice);
}

// The handle is handed out again on another device, before the call that destroyed it returned.
TEST(DeviceHandles, AHandleThatIsGivenAgainIsOfItsNewDevice) {
  CallStream calls;
  calls.add(Verb::kCreate, MemoryKind::kStream).handle(0x900).device(1);
  calls.add(Verb::kCreate, MemoryKind::kStream).handle(0x900).device(2);
  calls.add(Verb::kDestroy, MemoryKind::kStream).handle(0x900).began(18);
  calls.allocate(kPool, 0x1000, kMiB).stream(0x900).device(0);
  calls.add(Verb::kDestroy, MemoryKind::kStream).handle(0x900);
  calls.allocate(kPool, 0x9000000, kMiB).stream(0x900).device(0);
  Ledger ledger;
  const ProcessLedger& it = *taken(ledger, calls).find(0);
  EXPECT_EQ(it.sum(2, kPool).bytes, kMiB);
  EXPECT_EQ(it.sum(0, kPool).bytes, kMiB);
  EXPECT_EQ(it.sum(1, kPool).bytes, 0U);
}

TEST(DeviceHandles, TheNextPartOfARecordingKnowsThem) {
  CallStream calls;
  calls.add(Verb::kCreate, MemoryKind::kStream).handle(0x900).device(1);
  calls.add(Verb::kRetain, MemoryKind::kPoolItself).handle(0x60).device(2);
  Ledger first, second;
  for (const MemoryCall& call : taken(first, calls).find(0)->carried()) second.takeCarried(call);
  CallStream more;
  more.allocate(kPool, 0x1000, kMiB).stream(0x900).device(0);
  more.allocate(kPool, 0x9000000, 2 * kMiB).handle(0x60).device(0);
  const ProcessLedger& it = *taken(second, more).find(0);
  EXPECT_EQ(it.sum(1, kPool).bytes, kMiB);
  EXPECT_EQ(it.sum(2, kPool).bytes, 2 * kMiB);
  EXPECT_EQ(it.counts().impossible, 0U);
}

}  // namespace
}  // namespace tidegauge::model
