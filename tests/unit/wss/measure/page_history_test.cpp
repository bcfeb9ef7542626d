#include "wss/measure/page_history.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "wss/pages/page_sums.h"

namespace tidegauge::wss {
namespace {

void set(PageBits::Bits& bits, size_t page) { bits[page / 64] |= uint64_t{1} << page % 64; }

// Pages of one table: '.' there, 'x' touched, ' ' not there.
PageBits tableOf(uint64_t table, const std::string& pages) {
  PageBits bits{.table = table};
  for (size_t i = 0; i < pages.size(); ++i) {
    if (pages[i] != ' ') set(bits.there, i);
    if (pages[i] == 'x') set(bits.touched, i);
  }
  return bits;
}

uint64_t pages(uint64_t bytes) { return bytes / kPage; }

TEST(PageHistory, KnowsWhenEachPageWasTouchedLast) {
  PageHistory history(4);
  Rolling last;
  // As drawn in the header.
  for (const char* window : {"xx..", "x.x.", "x...", "x...", "xx.."})
    last = history.add({{tableOf(0, window)}});
  ASSERT_EQ(last.within.size(), 3U);
  EXPECT_EQ(last.within[0].windows, 1U);
  EXPECT_EQ(pages(last.within[0].bytes), 2U);  // a, b
  EXPECT_EQ(pages(last.within[1].bytes), 2U);
  EXPECT_EQ(last.within[2].windows, 4U);
  EXPECT_EQ(pages(last.within[2].bytes), 3U);  // and c
  EXPECT_EQ(pages(last.never), 1U);            // d
  EXPECT_EQ(last.first, 0U);
  EXPECT_EQ(pages(last.again[0]), 1U);  // a
  EXPECT_EQ(pages(last.again[2]), 1U);  // b, after 4
}

TEST(PageHistory, ReportsTheRequestedNumberOfWindows) {
  PageHistory history(6);
  Rolling last = history.add({{tableOf(0, "x")}});
  std::vector<uint32_t> windows;
  for (const Rolling::Within& within : last.within) windows.push_back(within.windows);
  EXPECT_EQ(windows, (std::vector<uint32_t>{1, 2, 4, 6}));
}

TEST(PageHistory, ForgetsMissingPages) {
  PageHistory history(1);
  history.add({{tableOf(0, "xx"), tableOf(kTable, "x")}});
  Rolling gone = history.add({{tableOf(0, "x ")}});
  EXPECT_EQ(pages(gone.within[0].bytes), 1U);
  Rolling back = history.add({{tableOf(0, "xx"), tableOf(kTable, "x.")}});
  EXPECT_EQ(pages(back.first), 2U);  // of new memory at old addresses
  EXPECT_EQ(pages(back.again[0]), 1U);
  EXPECT_EQ(pages(back.never), 1U);
  EXPECT_EQ(pages(history.add({}).within[0].bytes), 0U);
}

TEST(PageHistory, OlderThanItCountsIsTheLastBin) {
  PageHistory history(1);
  history.add({{tableOf(0, "xx")}});
  for (int i = 0; i < 127; ++i) history.add({{tableOf(0, "..")}});
  EXPECT_EQ(pages(history.add({{tableOf(0, "x.")}}).again[7]), 1U);  // after 128
  EXPECT_EQ(pages(history.add({{tableOf(0, ".x")}}).again[8]), 1U);  // after 129
  for (int i = 0; i < 1000; ++i) history.add({{tableOf(0, "..")}});
  EXPECT_EQ(pages(history.add({{tableOf(0, "xx")}}).again[8]), 2U);
}

// The same, remembering everything.
class SlowHistory {
 public:
  void add(const std::map<uint64_t, char>& window) { windows_.push_back(window); }
  // Windows since the page was touched, the last one being 0, while it existed; −1: never.
  int since(uint64_t page, size_t window) const {
    for (int back = 0; static_cast<size_t>(back) <= window; ++back) {
      auto at = windows_[window - static_cast<size_t>(back)].find(page);
      if (at == windows_[window - static_cast<size_t>(back)].end()) return -1;
      if (at->second == 'x') return back;
    }
    return -1;
  }
  void check(const Rolling& told) const {
    size_t now = windows_.size() - 1;
    std::map<uint32_t, uint64_t> within;
    uint64_t never = 0, first = 0;
    std::array<uint64_t, Rolling::kBins> again{};
    for (const auto& [page, state] : windows_[now]) {
      int since = this->since(page, now);
      never += since < 0;
      for (const Rolling::Within& one : told.within)
        within[one.windows] += since >= 0 && static_cast<uint32_t>(since) < one.windows;
      if (state != 'x') continue;
      bool was_there = now > 0 && windows_[now - 1].contains(page);
      int before = was_there ? this->since(page, now - 1) : -1;
      if (before < 0) {
        first += 1;
        continue;
      }
      size_t bin = 0;
      while (bin + 1 < again.size() && before + 1 > 1 << bin) ++bin;
      again[bin] += 1;
    }
    EXPECT_EQ(pages(told.never), never);
    EXPECT_EQ(pages(told.first), first);
    for (const Rolling::Within& one : told.within)
      EXPECT_EQ(pages(one.bytes), within[one.windows]) << one.windows;
    for (size_t bin = 0; bin < again.size(); ++bin) EXPECT_EQ(pages(told.again[bin]), again[bin]);
  }

 private:
  std::vector<std::map<uint64_t, char>> windows_;
};

TEST(PageHistory, IsAsRememberingEverything) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    std::mt19937 random(seed);
    PageHistory history(64);
    SlowHistory slow;
    for (int window = 0; window < 150; ++window) {
      std::map<uint64_t, char> state;
      std::vector<PageBits> tables;
      for (uint64_t table = 0; table < 3; ++table) {
        if (random() % 40 == 0) continue;
        PageBits bits{.table = table * kTable};
        for (size_t page = 0; page < PageBits::kPages; page += 37) {
          if (random() % 100 == 0) continue;
          set(bits.there, page);
          // Each page has its own period.
          bool touched = random() % (1 + page / 8 * (1 + table)) == 0;
          if (touched) set(bits.touched, page);
          state[table * PageBits::kPages + page] = touched ? 'x' : '.';
        }
        tables.push_back(bits);
      }
      slow.add(state);
      slow.check(history.add(tables));
      if (HasFailure()) FAIL() << "seed " << seed << " window " << window;
    }
  }
}

}  // namespace
}  // namespace tidegauge::wss
