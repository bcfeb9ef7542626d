// What was not watched goes to the program that ran then, however late that program is seen.
#include <gtest/gtest.h>

#include "record/session/session.h"
#include "support/quiet_source.h"

namespace tidegauge::record {
namespace {

constexpr uint32_t kPid = 4'000'000'000U;  // none of this machine

void begin(Session& session, uint32_t index, uint32_t pid, int64_t time_ns) {
  SeenProcess process;
  process.index = index;
  process.pid = pid;
  process.name = "one";
  process.first_ns = time_ns;
  session.processSeen(process);
}

model::Unwatched locked(uint32_t pid) {
  model::Unwatched it;
  it.pid = pid;
  it.library = "/opt/libcuda.so.1";
  it.function = "cuMemAlloc_v2";
  it.figures = {model::Figures::kMemory};
  it.reason = "cannot be probed";
  return it;
}

constexpr model::FigureSet kNone, kMemory = {model::Figures::kMemory};

TEST(SessionUnwatched, IsOfTheProcessThatMapsItOnly) {
  Session session(std::nullopt);
  begin(session, 0, kPid, testing::kLongAgo_ns);
  begin(session, 1, kPid + 1, testing::kLongAgo_ns);
  session.unwatched(locked(kPid), testing::kLongAgo_ns + 1);
  testing::QuietSource source;
  ASSERT_TRUE(session.finish(source).ok());
  EXPECT_EQ(session.incompleteOf(session.processes()[0]), kMemory);
  EXPECT_EQ(session.incompleteOf(session.processes()[1]), kNone);
}

TEST(SessionUnwatched, OfAProcessThatIsSeenLater) {
  Session session(std::nullopt);
  session.unwatched(locked(kPid), testing::kLongAgo_ns);
  begin(session, 0, kPid, testing::kLongAgo_ns + 5);
  testing::QuietSource source;
  ASSERT_TRUE(session.finish(source).ok());
  EXPECT_EQ(session.incompleteOf(session.processes()[0]), kMemory);
}

TEST(SessionUnwatched, AfterAnExecItIsOfTheNewProgram) {
  Session session(std::nullopt);
  begin(session, 0, kPid, testing::kLongAgo_ns);
  session.unwatched(locked(kPid),
                    testing::kLongAgo_ns + 7);  // reported before the exec is handled
  session.processEnded(0, testing::kLongAgo_ns + 7, std::nullopt);
  begin(session, 1, kPid, testing::kLongAgo_ns + 8);
  testing::QuietSource source;
  ASSERT_TRUE(session.finish(source).ok());
  EXPECT_EQ(session.incompleteOf(session.processes()[0]), kNone);
  EXPECT_EQ(session.incompleteOf(session.processes()[1]), kMemory);
}

TEST(SessionUnwatched, ALossIsOfAllProcesses) {
  Session session(std::nullopt);
  begin(session, 0, kPid, testing::kLongAgo_ns);
  testing::QuietSource source;
  source.lost[COUNT_NESTED] = 9;  // no loss
  ASSERT_TRUE(session.finish(source).ok());
  EXPECT_EQ(session.incompleteOf(session.processes()[0]), kNone);
  source.lost[LOSS_STACK] = 1;
  ASSERT_TRUE(session.finish(source).ok());
  EXPECT_EQ(session.incompleteOf(session.processes()[0]),
            model::FigureSet({model::Figures::kCallSites}));
}

}  // namespace
}  // namespace tidegauge::record
