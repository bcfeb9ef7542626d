#include "wss/pages/huge_pages.h"

#include <gtest/gtest.h>

#include "unit/wss/fake_sys.h"
#include "wss/pages/page_sums.h"

namespace tidegauge::wss {
namespace {

constexpr uint64_t kZero = 1 << 24, kHuge = 1 << 22;

// Frames 512, 1024 and 1536 are first ones of huge pages; 1024 is the one of zeros.
class HugeZeroTest : public testing::Test {
 protected:
  HugeZeroTest() {
    std::string flags(2048 * 8, '\0');
    auto set = [&](size_t frame, uint64_t value) {
      for (size_t byte = 0; byte < 8; ++byte)
        flags[frame * 8 + byte] = static_cast<char>(value >> 8 * byte);
    };
    set(512, kHuge);
    set(1024, kHuge | kZero);
    set(1536, kHuge);
    sys_.write("/proc/kpageflags", flags);
  }
  static uint64_t entryOf(uint64_t frame, uint64_t bits = 0) {
    return frame * kPage | kEntryPresent | bits;
  }
  FakeSys sys_;
  HugeZero zero_{sys_.root() + "/proc/kpageflags"};
};

TEST_F(HugeZeroTest, IsFoundByItsFlags) {
  EXPECT_FALSE(zero_.isIt(entryOf(512)));
  EXPECT_TRUE(zero_.isIt(entryOf(1024, kEntryAccessed)));
  EXPECT_FALSE(zero_.isIt(entryOf(1536)));  // there is one
  EXPECT_TRUE(zero_.isIt(entryOf(1024)));
}

TEST_F(HugeZeroTest, NobodyWroteToIt) {
  EXPECT_FALSE(zero_.isIt(entryOf(1024, kEntryDirty)));
  EXPECT_FALSE(zero_.isIt(entryOf(1024) & ~kEntryPresent));
  EXPECT_FALSE(zero_.isIt(entryOf(1024, kEntrySpecial)));  // then the entry itself says so
}

TEST_F(HugeZeroTest, WhereNothingIsToldItIsMemory) {
  HugeZero none(sys_.root() + "/proc/none");
  EXPECT_FALSE(none.isIt(entryOf(1024)));
  EXPECT_FALSE(zero_.isIt(entryOf(1 << 20)));  // beyond the end of memory
}

TEST(LargeFolios, TheLargestThatTheKernelMayMake) {
  FakeSys sys;
  auto size = [&](const char* kib, const char* choice) {
    sys.write(std::string("/t/hugepages-") + kib + "kB/enabled", choice);
  };
  auto told = [&] { return largestFolioBytes(sys.root() + "/t"); };
  EXPECT_EQ(told(), 0U);  // Linux before 6.8
  sys.write("/t/enabled", "always [madvise] never\n");
  for (const char* kib : {"8", "16", "64", "512", "1024"})
    size(kib, "always inherit madvise [never]\n");
  size("2048", "always [inherit] madvise never\n");  // those fill a table, and are taken whole
  EXPECT_EQ(told(), 0U);
  size("64", "[always] inherit madvise never\n");
  EXPECT_EQ(told(), uint64_t{64} << 10);
  size("512", "always [inherit] madvise never\n");
  EXPECT_EQ(told(), uint64_t{512} << 10);
  sys.write("/t/enabled", "always madvise [never]\n");
  EXPECT_EQ(told(), uint64_t{64} << 10);
  size("1024", "always inherit [madvise] never\n");
  EXPECT_EQ(told(), uint64_t{1024} << 10);
}

}  // namespace
}  // namespace tidegauge::wss
