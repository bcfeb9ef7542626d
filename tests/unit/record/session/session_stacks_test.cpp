// A call with a reported stack whose code can no longer be found is counted.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "record/session/session.h"
#include "support/quiet_source.h"

namespace tidegauge::record {
namespace {

// A session of this very process, so that its code has a place.
struct Ours {
  Session session{std::nullopt};
  Ours() {
    SeenProcess process;
    process.pid = static_cast<uint32_t>(getpid());
    process.name = "this";
    process.first_ns = 1'000'000'000'000'000'000;
    session.processSeen(process);
  }
  void call(uint32_t stack) {
    model::MemoryCall call;
    call.kind = model::MemoryKind::kDevice;
    call.verb = model::Verb::kAllocate;
    call.address = 0x1000;
    call.size_bytes = 1;
    call.stack = stack;
    session.call(call);
  }
};

TEST(SessionStacks, ACallWhoseStackCannotBePlacedIsCountedAsLost) {
  Ours ours;
  ours.session.stackSeen(0, 7, {reinterpret_cast<uint64_t>(&getpid)});
  ours.session.stackSeen(0, 8, {0x10});  // of the program that this process was before, say
  ours.call(7);
  ours.call(8);
  ours.call(8);
  ours.call(9);                      // was never reported
  ours.call(model::kNoStackOfCall);  // none was taken: counted where it was not
  testing::QuietSource source;
  source.lost[LOSS_STACK] = 10;
  ASSERT_TRUE(ours.session.finish(source).ok());
  EXPECT_EQ(ours.session.losses()[LOSS_STACK], 13U);
  EXPECT_TRUE(
      ours.session.incompleteOf(ours.session.processes()[0]).has(model::Figures::kCallSites));
}

TEST(SessionStacks, NothingIsLostWhereEachHasItsPlace) {
  Ours ours;
  ours.session.stackSeen(0, 7, {reinterpret_cast<uint64_t>(&getpid)});
  ours.call(7);
  testing::QuietSource source;
  ASSERT_TRUE(ours.session.finish(source).ok());
  EXPECT_EQ(ours.session.losses()[LOSS_STACK], 0U);
}

// Python gives its trampolines back when it ends, before anybody looked where the frames of its
// last call led: that they are named says enough.
TEST(SessionStacks, CodeThatIsNamedAndGoneIsCodeAllTheSame) {
  std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::ofstream(path) << "10 10 py::train:/home/me/train.py\n";
  Ours ours;
  auto known = reinterpret_cast<uint64_t>(&getpid);
  ours.session.stackSeen(0, 7, {known, 0x18, known + 1});
  ours.session.stackSeen(0, 8, {known, 0x28, known + 1});  // of no name: no code
  std::remove(path.c_str());
  std::vector<std::string> frames = ours.session.describeStack(0).frames;
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_NE(frames[1].find("train.py"), std::string::npos) << frames[1];
  EXPECT_EQ(ours.session.describeStack(1).frames.size(), 1U);
}

}  // namespace
}  // namespace tidegauge::record
