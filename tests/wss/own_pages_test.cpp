// Writable pages are not checked (uncleared.h): compared with pagemap, which would have been read.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <vector>

#include "wss/pages/pagemap.h"
#include "wss/pte/page_tables.h"

namespace tidegauge::wss {
namespace {

constexpr size_t kTables = 3;

class OwnPages : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = PageTables::open();
    if (!opened.ok())
      GTEST_SKIP() << opened.error().what << ": root with BPF would run it (" << opened.error().hint
                   << ")";
    tables_.emplace(std::move(opened).value());
    bytes_ = (kTables + 1) * kTable;
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(at, MAP_FAILED);
    memory_ = static_cast<char*>(at);
    begin_ = (reinterpret_cast<uint64_t>(at) + kTable - 1) / kTable * kTable;
  }
  void TearDown() override {
    if (child_ > 0) endChild();
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }
  void write(size_t every) {
    for (uint64_t at = begin_; at < begin_ + kTables * kTable; at += every * kPage)
      // NOLINTNEXTLINE(performance-no-int-to-ptr): of memory_
      *reinterpret_cast<volatile char*>(at) = 1;
  }
  void forkChild() {
    child_ = fork();
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) pause();
    }
    ASSERT_GT(child_, 0);
  }
  void endChild() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  // Number of pages by (own by their entry, exclusive by pagemap).
  using Counts = std::map<std::pair<bool, bool>, size_t>;
  Counts pages() {
    std::vector<uint64_t> addresses;
    for (size_t i = 0; i < kTables; ++i) addresses.push_back(begin_ + i * kTable);
    std::vector<bool> own;
    auto visit = [&](uint64_t, page_table_kind kind, Entries entries) {
      for (size_t i = 0; i < PAGE_TABLE_ENTRIES; ++i)
        own.push_back(hasEntries(kind) && isOwn(entries[kind == PAGE_TABLE_OF_PAGES ? i : 0]));
    };
    auto is_there = tables_->read(getpid(), addresses, PAGE_TABLE_ALL, visit);
    EXPECT_TRUE(is_there.ok() && is_there.value());
    std::vector<uint64_t> words(own.size());
    WordFile pagemap(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(pagemap.read(words, begin_ / kPage), static_cast<ssize_t>(words.size()));
    Counts counts;
    for (size_t i = 0; i < own.size(); ++i) ++counts[{own[i], (words[i] & kPagemapExclusive) != 0}];
    return counts;
  }
  static constexpr size_t kAll = kTables * PAGE_TABLE_ENTRIES;
  std::optional<PageTables> tables_;
  char* memory_ = nullptr;
  size_t bytes_ = 0;
  uint64_t begin_ = 0;
  pid_t child_ = 0;
};

TEST_F(OwnPages, OfAForkThoseThatWereWrittenSince) {
  madvise(memory_, bytes_, MADV_NOHUGEPAGE);
  write(1);
  EXPECT_EQ(pages(), (Counts{{{true, true}, kAll}}));
  forkChild();
  EXPECT_EQ(pages(), (Counts{{{false, false}, kAll}}));
  write(3);
  EXPECT_EQ(pages(), (Counts{{{true, true}, kAll / 3}, {{false, false}, kAll - kAll / 3}}));
  endChild();  // the others are exclusive, which only pagemap knows until they are written
  EXPECT_EQ(pages(), (Counts{{{true, true}, kAll / 3}, {{false, true}, kAll - kAll / 3}}));
}

// Without huge pages here, they are pages of 4 KiB, and it must hold as well.
TEST_F(OwnPages, OfHugePagesToo) {
  madvise(memory_, bytes_, MADV_HUGEPAGE);
  write(1);
  EXPECT_EQ(pages(), (Counts{{{true, true}, kAll}}));
  forkChild();
  EXPECT_EQ(pages(), (Counts{{{false, false}, kAll}}));
}

}  // namespace
}  // namespace tidegauge::wss
