// The page cache of a cgroup, on tables of frames that a test writes, and on files of its own.
#include "wss/cache/cgroup_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <set>

#include "unit/wss/fake_proc.h"
#include "unit/wss/fake_sys.h"
#include "wss/cache/cache_frames.h"
#include "wss/cache/cached_files.h"
#include "wss/pages/page_bits.h"
#include "wss/words/cache_text.h"

namespace tidegauge::wss {
namespace {

using testing::HasSubstr;

constexpr const char* kBitmap = "/sys/kernel/mm/page_idle/bitmap";
constexpr uint64_t kLru = 1 << 5, kMapped = 1 << 11, kAnonymous = 1 << 12, kHead = 1 << 15,
                   kTail = 1 << 16;
constexpr size_t kFrames = 20'000;  // three chunks

class CgroupCacheTest : public testing::Test {
 protected:
  CgroupCacheTest() : inodes_(kFrames), flags_(kFrames), idle_(kFrames / 64 + 1) {
    sys_.write("/sys/fs/cgroup/shop/memory.stat", "file 0\n");
    sys_.write("/sys/fs/cgroup/shop/db/memory.stat", "file 0\n");
    sys_.write("/sys/fs/cgroup/shop/db/uncounted/cgroup.procs", "");
  }
  uint64_t inode(const std::string& cgroup) const {
    struct stat about {};
    EXPECT_EQ(stat(sys_.at("/sys/fs/cgroup" + cgroup).c_str(), &about), 0);
    return about.st_ino;
  }
  void frame(uint64_t number, const std::string& cgroup, uint64_t flags) {
    inodes_[number] = inode(cgroup);
    flags_[number] = flags;
  }
  void write() const {
    write("/proc/kpagecgroup", inodes_);
    write("/proc/kpageflags", flags_);
    write(kBitmap, idle_);
  }
  void write(const std::string& path, const std::vector<uint64_t>& words) const {
    std::string bytes(words.size() * sizeof(uint64_t), '\0');
    memcpy(bytes.data(), words.data(), bytes.size());
    sys_.write(path, bytes);
  }
  std::set<uint64_t> marked() const {
    std::string text = sys_.read(kBitmap);
    std::set<uint64_t> frames;
    for (uint64_t bit = 0; bit < text.size() * 8; ++bit)
      if ((static_cast<unsigned char>(text[bit / 8]) >> bit % 8 & 1) != 0) frames.insert(bit);
    return frames;
  }

  FakeSys sys_;
  FakeClock clock_{10};
  std::vector<uint64_t> inodes_, flags_, idle_;
};

TEST_F(CgroupCacheTest, IsWhatIsListedOfFilesAndNotMapped) {
  frame(7, "/shop", kLru);
  frame(8, "/shop", kLru | kAnonymous);
  frame(9, "/shop", kLru | kMapped);
  frame(10, "/shop/db", kLru | kHead);
  frame(11, "/shop/db", kTail);
  frame(12, "/shop/db", kTail | kMapped);
  frame(13, "/shop/db", 0);  // on no list
  frame(14, "/", kLru);
  frame(19'999, "/shop", kLru);
  write();
  auto frames = cacheFramesOf({inode("/shop"), inode("/shop/db")}, sys_.root());
  ASSERT_TRUE(frames.ok());
  std::map<uint64_t, uint64_t> found;
  for (const CacheFrame& one : frames.value()) found[one.number] = one.first;
  EXPECT_EQ(found, (std::map<uint64_t, uint64_t>{{7, 7}, {10, 10}, {11, 10}, {19'999, 19'999}}));
}

TEST_F(CgroupCacheTest, CountsWhatIsNoLongerIdle) {
  for (uint64_t number : {64, 65, 66}) frame(number, "/shop/db", kLru);
  frame(70, "/shop", kLru);
  frame(80, "/", kLru);
  write();
  auto cache = CgroupCache::open("/shop", sys_.root());
  ASSERT_TRUE(cache.ok()) << cache.error().what;
  ASSERT_TRUE(cache.value().clear(clock_).ok());
  EXPECT_EQ(marked(), (std::set<uint64_t>{64, 65, 66, 70}));
  idle_[1] = 0b101;  // 65 and 70 were used
  write();
  auto use = cache.value().read({}, clock_);
  ASSERT_TRUE(use.ok()) << use.error().what;
  EXPECT_EQ(use.value().all.bytes, 4 * kPage);
  EXPECT_EQ(use.value().all.referenced, 2 * kPage);
  EXPECT_EQ(use.value().unnamed.bytes, 4 * kPage);
  EXPECT_EQ(use.value().unnamed.referenced, 2 * kPage);
  EXPECT_GT(use.value().window_ns, 0);
  EXPECT_THAT(cacheText(use.value(), 20, 100),
              HasSubstr("Cgroup /shop has 16.0 KiB of page cache that no process maps; 8.0 KiB of "
                        "it were used"));
}

TEST_F(CgroupCacheTest, SaysWhatIsMissing) {
  auto none = CgroupCache::open("/absent", sys_.root());
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().what, "there is no cgroup /absent");
  auto uncounted = CgroupCache::open("/shop/db/uncounted", sys_.root());
  ASSERT_FALSE(uncounted.ok());
  EXPECT_EQ(uncounted.error().what, "cgroup /shop/db/uncounted does not count memory");
  EXPECT_THAT(uncounted.error().hint, HasSubstr("/sys/fs/cgroup/shop/db, which does"));
  auto cache = CgroupCache::open("/shop", sys_.root());
  ASSERT_TRUE(cache.ok());
  auto cleared = cache.value().clear(clock_);
  ASSERT_FALSE(cleared.ok());
  EXPECT_THAT(cleared.error().what, HasSubstr("/proc/kpagecgroup cannot be read"));
}

TEST(CachedFiles, EachPageOfAFileOnceHoweverOftenItIsOpen) {
  if (geteuid() != 0) GTEST_SKIP() << "only root sees the numbers of frames";
  constexpr size_t kPages = 300;
  std::string path = (std::filesystem::temp_directory_path() / "cached-XXXXXX").string();
  int file = mkstemp(path.data());
  ASSERT_GE(file, 0);
  std::string text(kPages * kPage - 100, 'x');  // the last page is not full
  ASSERT_EQ(write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  int again = open(path.c_str(), O_RDONLY);
  auto process = Process::open(getpid());
  ASSERT_TRUE(process.ok());
  std::vector<std::pair<size_t, uint64_t>> pages;
  auto files = eachCachedPage({&process.value()}, [&](size_t index, uint64_t frame) {
    pages.push_back({index, frame});
    return true;
  });
  close(again);
  close(file);
  std::filesystem::remove(path);
  std::set<uint64_t> frames;
  size_t mine = 0;
  for (size_t i = 0; i < files.size(); ++i) mine += files[i].name == path;
  ASSERT_EQ(mine, 1U);
  for (auto [index, frame] : pages)
    if (files[index].name == path) frames.insert(frame);
  EXPECT_EQ(frames.size(), kPages);
}

TEST(CacheText, CutsListsAndNames) {
  CacheUse use{.cgroup = "/shop", .window_ns = 1'000'000'000};
  use.all = {8 * kPage, 4 * kPage};
  for (const char* name :
       {"/a/very/long/path/of/folders/that/does/not/fit/into/the/line", "/b", "/c\x01"})
    use.files.push_back({name, {2 * kPage, kPage}});
  use.unnamed = {2 * kPage, kPage};
  std::string text = cacheText(use, 2, 60);
  EXPECT_THAT(text, HasSubstr("1 more"));
  EXPECT_THAT(text, HasSubstr("files without a name (not open now)"));
  EXPECT_THAT(cacheText(use, 3, 60), HasSubstr("/c·"));
  nlohmann::json json = cacheJson(use);
  EXPECT_EQ(json["files"].size(), 3U);
  EXPECT_EQ(json["files"][1]["name"], "/b");
  EXPECT_EQ(json["unnamed"]["referenced"], kPage);
}

}  // namespace
}  // namespace tidegauge::wss
