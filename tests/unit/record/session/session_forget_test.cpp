// What a session forgets about ended processes: all of their data, and nothing of running ones.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "record/kernel/functions.h"
#include "record/session/session.h"
#include "support/quiet_source.h"

namespace tidegauge::record {
namespace {

using testing::idOf;

// A process with code of its own at `place`: two stacks, a kernel, memory that it does not free.
void live(Session& session, uint32_t index, uint64_t place, bool ends) {
  SeenProcess process;
  process.index = index;
  process.pid = 4'000'000'000U - index;  // none of this machine
  process.name = "short";
  process.first_ns = testing::kLongAgo_ns;
  session.processSeen(process);
  session.kernelNamed({index, 0x10, 0, fmt::format("kernel_{}", index)});
  session.stackSeen(index, 1, {place, place + 1, place + 2});
  session.stackSeen(index, 2, {place, place + 3});
  model::MemoryCall call;
  call.process = index;
  call.start_ns = call.end_ns = testing::kLongAgo_ns + 1;
  call.address = 0x7f0000000000;
  call.size_bytes = 4096;
  call.device = 0;
  call.function = idOf("cuMemAlloc_v2");
  call.stack = 1;
  session.call(call);
  LaunchCount launch;
  launch.process = index;
  launch.kernel = 0x10;
  launch.function = idOf("cuLaunchKernel");
  launch.launches = 7;
  session.launchesSeen({launch});
  if (ends) session.processEnded(index, testing::kLongAgo_ns + 2, 0);
}

TEST(SessionForget, TheEndedGoWithAllThatWasTheirs) {
  Session session(std::nullopt);
  testing::QuietSource source;
  live(session, 0, 0x1000, false);
  for (uint32_t i = 1; i <= 100; ++i) live(session, i, 0x1000 * (i + 1), true);
  EXPECT_EQ(session.keeps().processes, 101U);
  EXPECT_EQ(session.keeps().stacks, 202U);
  ASSERT_TRUE(session.finish(source).ok());
  SessionKeeps keeps = session.keeps();
  EXPECT_EQ(keeps.processes, 1U);
  EXPECT_EQ(keeps.stacks, 2U);
  EXPECT_EQ(keeps.frames, 4U);
  EXPECT_EQ(keeps.kernels, 1U);
  EXPECT_EQ(session.processes().size(), 101U);  // numbers are not used again
  EXPECT_EQ(session.ledger().processes(), std::vector<uint32_t>{0});
  EXPECT_EQ(session.describeStack(0).frames.size(), 3U);
  EXPECT_EQ(session.describeStack(150).frames.size(), 0U);
  EXPECT_EQ(session.forgottenUnfreed().at("short"), 100U * 4096);
}

TEST(SessionForget, WhoEndedJustNowIsKept) {
  Session session(std::nullopt);
  session.forgetAfter(INT64_MAX);
  testing::QuietSource source;
  for (uint32_t i = 0; i < 10; ++i) live(session, i, 0x1000 * (i + 1), true);
  ASSERT_TRUE(session.finish(source).ok());
  EXPECT_EQ(session.keeps().processes, 10U);
  EXPECT_EQ(session.keeps().stacks, 20U);
}

uint64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t whole = 0, resident = 0;
  file >> whole >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// 20,000 processes, none with code of another: 300 bytes kept of each would be 4 MiB after the
// warm-up.
// Lives of 20,000 processes; the bytes in use after a quarter of them.
uint64_t liveLong(Session& session) {
  testing::QuietSource source;
  uint64_t warm_bytes = 0;
  for (uint32_t i = 0; i < 20'000; ++i) {
    live(session, i, 0x10000 * (i + 1), true);
    if (i % 500 == 499) {
      EXPECT_TRUE(session.finish(source).ok());
    }
    if (i == 4'999) warm_bytes = residentBytes();
  }
  return warm_bytes;
}

TEST(SessionForget, RowsOfManyProcessesGo) {
  Session session(std::nullopt);
  (void)liveLong(session);
  EXPECT_EQ(session.keeps().processes + session.keeps().stacks + session.keeps().frames, 0U);
}

TEST(SessionForget, MemoryStaysFlat) {
#ifdef TIDEGAUGE_SANITIZED
  GTEST_SKIP()
      << "AddressSanitizer keeps freed memory back: the build without it compares the bytes";
#endif
  Session session(std::nullopt);
  uint64_t warm_bytes = liveLong(session);
  EXPECT_LT(residentBytes(), warm_bytes + (uint64_t{2} << 20));
}

}  // namespace
}  // namespace tidegauge::record
