// On a bitmap, a pagemap and flags of frames that a test writes.
#include "wss/backends/idle_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "unit/wss/fake_proc.h"
#include "unit/wss/fake_sys.h"
#include "wss/pages/page_frames.h"

namespace tidegauge::wss {
namespace {

using testing::HasSubstr;

constexpr const char* kBitmap = "/sys/kernel/mm/page_idle/bitmap";
constexpr uint64_t kPresent = uint64_t{1} << 63, kSwapped = uint64_t{1} << 62,
                   kFile = uint64_t{1} << 61;
constexpr uint64_t kAnonymous = 1 << 12, kHead = 1 << 15, kTail = 1 << 16, kHugetlb = 1 << 17,
                   kNoPage = 1 << 20, kZero = 1 << 24;
constexpr uint64_t kFirstPage = 0x400;

std::string bytesOf(const std::map<uint64_t, uint64_t>& words, uint64_t count) {
  std::string bytes(count * 8, '\0');
  for (auto [at, word] : words) memcpy(bytes.data() + at * 8, &word, 8);
  return bytes;
}

class Idle : public testing::Test {
 protected:
  Idle() {
    proc_.write("maps",
                "00400000-00410000 rw-p 00000000 00:00 0 [heap]\n"
                "00410000-00414000 r-xp 00000000 fd:01 131 /lib\n");
    bitmap({});
  }
  void pagemap(std::map<uint64_t, uint64_t> entries) {
    proc_.write("pagemap", bytesOf(entries, kFirstPage + 0x20));
  }
  void flags(const std::map<uint64_t, uint64_t>& words, uint64_t count = 4096) {
    sys_.write("/proc/kpageflags", bytesOf(words, count));
  }
  void bitmap(const std::map<uint64_t, uint64_t>& words) {
    sys_.write(kBitmap, bytesOf(words, 64));
  }
  std::map<uint64_t, uint64_t> marked() const {
    std::string text = sys_.read(kBitmap);
    std::map<uint64_t, uint64_t> words;
    for (uint64_t at = 0; at < text.size() / 8; ++at) {
      uint64_t word = 0;
      memcpy(&word, text.data() + at * 8, 8);
      if (word != 0) words[at] = word;
    }
    return words;
  }

  FakeSys sys_;
  FakeProc proc_;
  Process process_ = Process::open(423, proc_.root()).value();
  FakeClock clock_{10};
  IdleBackend backend_{Flush::kFree, sys_.root()};
};

TEST_F(Idle, OnlyTheBitsOfItsOwnFramesAreSet) {
  pagemap({{kFirstPage, kPresent | 130},
           {kFirstPage + 1, kPresent | 3},
           {kFirstPage + 2, kPresent | 128},
           {kFirstPage + 0x10, kPresent | kFile | 1000}});
  flags({});
  auto cleared = backend_.clear(process_, clock_);
  ASSERT_TRUE(cleared.ok()) << cleared.error().what;
  EXPECT_EQ(marked(), (std::map<uint64_t, uint64_t>{
                          {0, 1 << 3}, {2, 1 | 1 << 2}, {15, uint64_t{1} << (1000 - 960)}}));
  EXPECT_EQ(proc_.read("clear_refs"), "4");  // the flush alone
}

TEST_F(Idle, PagesNoLongerIdleWereTouched) {
  pagemap({{kFirstPage, kPresent | 130},
           {kFirstPage + 1, kPresent | 3},
           {kFirstPage + 2, kSwapped | 7},  // not a frame, though it looks like one
           {kFirstPage + 0x10, kPresent | kFile | 131}});
  flags({{130, kAnonymous}, {3, kAnonymous}});
  bitmap({{0, 1 << 3}, {2, 1 << 1}});
  auto reading = backend_.read(process_, clock_);
  ASSERT_TRUE(reading.ok()) << reading.error().what;
  ASSERT_EQ(reading.value().uses.size(), 2U);
  const MappingSums& heap = reading.value().uses[0].sums;
  EXPECT_EQ(heap.rss, 8192U);
  EXPECT_EQ(heap.referenced, 4096U);  // frame 130
  EXPECT_EQ(heap.dirty, 8192U);
  EXPECT_EQ(heap.swap, 4096U);
  const MappingSums& lib = reading.value().uses[1].sums;
  EXPECT_EQ(lib.rss, 4096U);
  EXPECT_EQ(lib.referenced, 4096U);
  EXPECT_EQ(lib.dirty, 0U);
}

// The kernel stores the flags of a folio in its first frame; wss-v1 and wss-v2 used the others,
// too.
TEST_F(Idle, AFolioIsAskedForAtItsFirstFrame) {
  pagemap({{kFirstPage, kPresent | 510},  // across the border of one read of flags
           {kFirstPage + 1, kPresent | 511},
           {kFirstPage + 2, kPresent | 513},
           {kFirstPage + 3, kPresent | 1023}});
  std::map<uint64_t, uint64_t> folio{{508, kHead}};
  for (uint64_t tail = 509; tail < 1024; ++tail) folio[tail] = kTail;
  flags(folio);
  ASSERT_TRUE(backend_.clear(process_, clock_).ok());
  EXPECT_EQ(marked(), (std::map<uint64_t, uint64_t>{{7, uint64_t{1} << (508 - 448)}}));
  auto reading = backend_.read(process_, clock_);
  EXPECT_EQ(reading.value().uses[0].sums.rss, 4 * 4096U);
  EXPECT_EQ(reading.value().uses[0].sums.huge, 4 * 4096U);
  EXPECT_EQ(reading.value().uses[0].sums.referenced, 0U);
  bitmap({});
  EXPECT_EQ(backend_.read(process_, clock_).value().uses[0].sums.referenced, 4 * 4096U);
}

// Two side by side, one of whose pages is mapped twice, and one that was split just now.
TEST_F(Idle, FoliosThatAreNeighbours) {
  pagemap({{kFirstPage, kPresent | 17},
           {kFirstPage + 1, kPresent | 17},
           {kFirstPage + 2, kPresent | 19},
           {kFirstPage + 3, kPresent | 22},
           {kFirstPage + 4, kPresent | 23},
           {kFirstPage + 5, kPresent | 33}});
  flags({{16, kHead},
         {17, kTail},
         {18, kTail},
         {19, kTail},
         {20, kHead},
         {21, kTail},
         {22, kTail},
         {23, kTail},
         {33, kTail}});
  ASSERT_TRUE(backend_.clear(process_, clock_).ok());
  EXPECT_EQ(marked(), (std::map<uint64_t, uint64_t>{
                          {0, uint64_t{1} << 16 | uint64_t{1} << 20 | uint64_t{1} << 33}}));
}

TEST_F(Idle, MemoryOfOthersIsLeftOut) {
  pagemap({{kFirstPage, kPresent | 1},
           {kFirstPage + 1, kPresent | 2},
           {kFirstPage + 2, kPresent | 3},
           {kFirstPage + 3, kPresent | 100'000},  // beyond memory: a device
           {kFirstPage + 4, kPresent | 4}});
  flags({{1, kZero}, {2, kNoPage}, {3, kHugetlb | kHead}});
  ASSERT_TRUE(backend_.clear(process_, clock_).ok());
  EXPECT_EQ(marked(), (std::map<uint64_t, uint64_t>{{0, 1 << 4}}));
  auto reading = backend_.read(process_, clock_);
  EXPECT_EQ(reading.value().uses[0].sums.rss, 4096U);
  EXPECT_EQ(reading.value().uses[0].sums.hugetlb, 4096U);
}

// At the end of memory, the kernel reads and writes less.
TEST_F(Idle, ABitmapThatEndsBefore) {
  pagemap({{kFirstPage, kPresent | 3}, {kFirstPage + 1, kPresent | 4000}});
  flags({}, 4001);
  bitmap({{0, 1 << 3}});
  std::filesystem::resize_file(sys_.at(kBitmap), 8);
  auto reading = backend_.read(process_, clock_);
  ASSERT_TRUE(reading.ok()) << reading.error().what;
  EXPECT_EQ(reading.value().uses[0].sums.referenced, 4096U);
}

TEST_F(Idle, FramesHiddenFromThisUser) {
  pagemap({{kFirstPage, kPresent}});
  flags({});
  auto cleared = backend_.clear(process_, clock_);
  ASSERT_FALSE(cleared.ok());
  EXPECT_EQ(cleared.error().kind, base::ErrorKind::kMissingFeature);
  EXPECT_THAT(cleared.error().hint, HasSubstr("CAP_SYS_ADMIN"));
}

TEST_F(Idle, TailsWithoutAFirstFrame) {
  pagemap({{kFirstPage, kPresent | 2}, {kFirstPage + 1, kPresent | 600}});
  flags({{0, kTail}, {1, kTail}, {2, kTail}, {599, 0}, {600, kTail}});
  ASSERT_TRUE(backend_.clear(process_, clock_).ok());
  EXPECT_EQ(marked(), (std::map<uint64_t, uint64_t>{{0, 1 << 2}, {9, 1 << (600 - 576)}}));
}

TEST_F(Idle, AProcessWithoutAPage) {
  pagemap({});
  flags({});
  EXPECT_TRUE(backend_.clear(process_, clock_).ok());
  auto reading = backend_.read(process_, clock_);
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading.value().uses[0].sums.rss, 0U);
}

TEST_F(Idle, WhyNot) {
  flags({});
  EXPECT_TRUE(IdleBackend::check(sys_.root()).ok());
  std::filesystem::remove(sys_.at(kBitmap));
  auto status = IdleBackend::check(sys_.root());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, base::ErrorKind::kMissingFeature);
  EXPECT_THAT(status.error().hint, HasSubstr("CONFIG_IDLE_PAGE_TRACKING"));
}

}  // namespace
}  // namespace tidegauge::wss
