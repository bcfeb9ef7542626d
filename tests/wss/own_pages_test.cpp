// Writable pages are not checked (uncleared.h): compared with pagemap, which would have been read.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wss/pages/pagemap.h"
#include "wss/pte/bpf_loader.h"
#include "wss/pte/page_tables.h"

extern "C" const unsigned char tidegauge_page_tables_object[];
extern "C" const unsigned char tidegauge_page_tables_object_end[];
extern "C" const unsigned char tidegauge_page_tables_loader[];
extern "C" const unsigned char tidegauge_page_tables_loader_end[];

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

// Bytes that this process has read so far, of files of any kind; absent: not counted here.
std::optional<uint64_t> bytesRead() {
  std::ifstream file("/proc/self/io");
  std::string name;
  uint64_t bytes = 0;
  if (file >> name >> bytes && name == "rchar:") return bytes;
  return std::nullopt;
}

// What it reads of the type information of the kernel would be five million bytes.
TEST_F(OwnPages, OpeningReadsNextToNothing) {
  if (std::span(tidegauge_page_tables_loader, tidegauge_page_tables_loader_end).empty())
    GTEST_SKIP() << "this libbpf made no loading program: a newer one would run it";
  auto before = bytesRead();
  if (!before) GTEST_SKIP() << "/proc/self/io is not there: CONFIG_TASK_IO_ACCOUNTING would run it";
  ASSERT_TRUE(PageTables::open().ok());
  EXPECT_LT(*bytesRead() - *before, 100'000U);
}

using Tables = std::map<uint64_t, std::pair<page_table_kind, std::vector<uint64_t>>>;

// Without the bits that the processor changes.
Tables tablesOf(PageTables& tables, std::span<const uint64_t> addresses, page_table_part part) {
  Tables found;
  auto visit = [&](uint64_t table, page_table_kind kind, Entries entries) {
    auto& [its_kind, its_entries] = found[table];
    its_kind = kind;
    if (kind == PAGE_TABLE_HUGE) its_entries = {entries[0] & kEntryPlace};
    if (kind != PAGE_TABLE_OF_PAGES || part != PAGE_TABLE_ALL) return;
    for (size_t i = 0; i < PAGE_TABLE_ENTRIES; ++i) its_entries.push_back(entries[i] & kEntryPlace);
  };
  EXPECT_TRUE(tables.read(getpid(), addresses, part, visit).value());
  return found;
}

// The slow twin: libbpf loads the same program.
TEST_F(OwnPages, BothWaysOfLoadingReadTheSame) {
  auto slow = PageTables::open({tidegauge_page_tables_object, tidegauge_page_tables_object_end});
  ASSERT_TRUE(slow.ok()) << slow.error().what;
  write(3);
  std::vector<uint64_t> addresses;
  for (uint64_t at = begin_; at < begin_ + kTables * kTable; at += kTable) addresses.push_back(at);
  addresses.push_back(1 << 20);  // nothing is mapped there
  for (page_table_part part :
       {PAGE_TABLE_ALL, PAGE_TABLE_64, PAGE_TABLE_32, PAGE_TABLE_16, PAGE_TABLE_KIND}) {
    Tables fast = tablesOf(*tables_, addresses, part);
    EXPECT_EQ(fast.size(), addresses.size());
    EXPECT_EQ(fast, tablesOf(slow.value(), addresses, part)) << part;
  }
}

TEST(BpfLoader, LoadsNothingOfWhatIsCut) {
  EXPECT_FALSE(loadByProgram({}).has_value());
  std::vector<unsigned char> loader(tidegauge_page_tables_loader, tidegauge_page_tables_loader_end);
  if (loader.empty()) GTEST_SKIP() << "this libbpf made no loading program";
  loader.pop_back();
  EXPECT_FALSE(loadByProgram(loader).has_value());
  std::fill(loader.begin(), loader.end(), 0xff);
  EXPECT_FALSE(loadByProgram(loader).has_value());
}

}  // namespace
}  // namespace tidegauge::wss
