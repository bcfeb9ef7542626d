#include "wss/surveys/spot.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "unit/wss/fake_proc.h"

namespace tidegauge::wss {
namespace {

// Source of the figures: E. B. Wilson (1927), with z = 1.96.
TEST(Spot, TheIntervalOfAShare) {
  auto [low, high] = wilson(13, 100);
  EXPECT_NEAR(low, 0.0776, 0.0005);
  EXPECT_NEAR(high, 0.2099, 0.0005);
  EXPECT_EQ(wilson(0, 100).first, 0);
  EXPECT_NEAR(wilson(0, 100).second, 0.0370, 0.0005);
  EXPECT_EQ(wilson(100, 100).second, 1);
  EXPECT_EQ(wilson(0, 0), (std::pair{0.0, 1.0}));
}

// One page here, and three scattered in a mapping of a hundred: a quarter and three quarters of the
// words.
TEST(SpotChooser, EachWordInMemoryIsAsLikely) {
  int first = 0;
  std::array<int, 3> of_sparse{};
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    SpotChooser chooser(1, seed);
    chooser.add({0x1000, 0x2000});
    for (uint64_t i = 0; i < 3; ++i) chooser.add({0x100000 + i * 0x20000, 0x101000 + i * 0x20000});
    EXPECT_EQ(chooser.bytes(), 4U * 4096);
    ASSERT_EQ(chooser.addresses().size(), 1U);
    uint64_t address = chooser.addresses()[0];
    EXPECT_EQ(address % 8, 0U);
    if (address < 0x2000) {
      first += 1;
      EXPECT_GE(address, 0x1000U);
    } else {
      ASSERT_LT((address - 0x100000) % 0x20000, 0x1000U);
      of_sparse[(address - 0x100000) / 0x20000] += 1;
    }
  }
  EXPECT_NEAR(first, 1000, 120);
  for (int count : of_sparse) EXPECT_NEAR(count, 1000, 120);
}

TEST(SpotChooser, EachWordOnceAndNoneOfNothing) {
  SpotChooser chooser(4, 1);
  EXPECT_TRUE(chooser.addresses().empty());
  chooser.add({0x1000, 0x1010});  // two words for four places
  EXPECT_LE(chooser.addresses().size(), 2U);
  EXPECT_GE(chooser.addresses().size(), 1U);
}

// A child that repeatedly touches every second word of 64 MiB, and next to nothing of its other
// memory: little, or more than that if other tests ran in this program before.
TEST(Spot, OfAProgramThatTouchesEverySecondWord) {
  if (auto here = Spot::check(); !here.ok())
    GTEST_SKIP() << here.error().what << ": a machine with debug registers would run it";
  constexpr size_t kWords = size_t{64} << 17;
  auto* words = static_cast<volatile uint64_t*>(
      mmap(nullptr, kWords * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(words, MAP_FAILED);
  pid_t child = fork();
  if (child == 0) {
    for (uint64_t round = 0;; ++round)
      for (size_t i = 0; i < kWords; i += 2) words[i] = round;
  }
  usleep(500'000);
  auto process = Process::open(child);
  ASSERT_TRUE(process.ok());
  class Clock final : public wss::Clock {
   public:
    int64_t now_ns() override { return 0; }
    int64_t cpu_ns() override { return 0; }
    void sleep(int64_t ns) override { usleep(static_cast<useconds_t>(ns / 1000)); }
    bool isEnding() const override { return false; }
  } clock;
  double share = 4.0 * kWords / static_cast<double>(process.value().resident().bytes);
  Spot spot(process.value(), 80, 1);
  for (int i = 0; i < 40; ++i) {
    auto row = spot.next(clock, 150'000'000);
    ASSERT_TRUE(row.ok()) << row.error().what;
    if (!row.value()) break;
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  munmap(const_cast<uint64_t*>(words), kWords * 8);
  auto all = spot.verdict().fields;
  EXPECT_EQ(all["words"], 80);
  // Chance is off by 24 once in ten million.
  EXPECT_NEAR(all["touched"].get<double>(), 80 * share, 24) << share;
}

}  // namespace
}  // namespace tidegauge::wss
