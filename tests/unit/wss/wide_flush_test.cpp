// Which part of a table is made cold so that all of the TLB is flushed.
#include "wss/wide_flush.h"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>

namespace tidegauge::wss {
namespace {

constexpr uint64_t kAt = 5 * kTable;

class WideSpanOf : public testing::Test {
 protected:
  void touch(std::initializer_list<size_t> pages) {
    for (size_t page : pages) entries_[page] |= kEntryPresent | kEntryAccessed;
  }
  void map(size_t first, size_t last, MappingKind kind = MappingKind::kAnonymous) {
    uses_.emplace_back();
    uses_.back().mapping = {
        .start = kAt + first * kPage, .end = kAt + last * kPage, .kind = kind, .path = {}};
  }
  static bool isAnonymous(const Mapping& mapping) {
    return mapping.kind == MappingKind::kAnonymous;
  }
  std::optional<WideSpan> span(page_table_kind kind = PAGE_TABLE_OF_PAGES) {
    return wideSpanOf(kAt, kind, entries_, uses_, isAnonymous);
  }
  std::optional<WideSpan> spanAround(size_t from, size_t to) {
    return wideSpanOf(kAt, PAGE_TABLE_OF_PAGES, entries_, uses_, isAnonymous, from, to);
  }
  std::array<__u64, PAGE_TABLE_ENTRIES> entries_{};
  std::vector<MappingUse> uses_;
};

TEST_F(WideSpanOf, FromTheFirstTouchedPageToTheNextThatIsFarFromIt) {
  map(0, 512);
  touch({80, 81, 140, 200, 400});
  auto found = span();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 80U);
  EXPECT_EQ(found->last, 200U);
  EXPECT_EQ(found->range.begin, kAt + 64 * kPage);  // so that no folio is cut
  EXPECT_EQ(found->range.end, kAt + 256 * kPage);
}

TEST_F(WideSpanOf, NotOutsideOfTheMapping) {
  map(10, 102);
  touch({30, 100});
  auto found = span();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->range.begin, kAt + 10 * kPage);
  EXPECT_EQ(found->range.end, kAt + 102 * kPage);
}

TEST_F(WideSpanOf, NotIfTheyLieCloseTogether) {
  map(0, 512);
  touch({30, 31, 60, 93});
  EXPECT_FALSE(span());
  touch({94});
  EXPECT_TRUE(span());
}

// One flush is of one mapping.
TEST_F(WideSpanOf, NotAcrossMappings) {
  map(0, 100);
  map(100, 512);
  touch({10, 110});
  EXPECT_FALSE(span());
  touch({300});
  ASSERT_TRUE(span());
  EXPECT_EQ(span()->first, 110U);
}

TEST_F(WideSpanOf, NotOfWhatIsNotSampled) {
  map(0, 512, MappingKind::kFile);
  touch({10, 300});
  EXPECT_FALSE(span());
}

// A huge page has one entry; and the page of zeros keeps its bit.
TEST_F(WideSpanOf, NotOfHugePagesNorOfZeros) {
  map(0, 512);
  touch({0, 300});
  EXPECT_FALSE(span(PAGE_TABLE_HUGE));
  EXPECT_TRUE(span());
  entries_[300] |= kEntrySpecial;
  EXPECT_FALSE(span());
}

TEST_F(WideSpanOf, AroundGivenPagesToThoseBehind) {
  map(0, 512);
  touch({5, 80, 90, 143, 144, 400});
  auto found = spanAround(80, 96);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 80U);
  EXPECT_EQ(found->last, 144U);
  EXPECT_EQ(found->range.begin, kAt + 64 * kPage);
  EXPECT_EQ(found->range.end, kAt + 192 * kPage);
}

TEST_F(WideSpanOf, AroundGivenPagesToThoseBefore) {
  map(0, 512);
  touch({16, 200, 280, 337, 400, 450});
  auto found = spanAround(400, 416);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 280U);  // the nearest that is far enough
  EXPECT_EQ(found->last, 400U);
  EXPECT_EQ(found->range.begin, kAt + 256 * kPage);
  EXPECT_EQ(found->range.end, kAt + 448 * kPage);
}

TEST_F(WideSpanOf, AroundGivenPagesNeedsOneOfThem) {
  map(0, 512);
  touch({10, 300});
  EXPECT_FALSE(spanAround(80, 96));
  touch({95});
  EXPECT_TRUE(spanAround(80, 96));
}

TEST_F(WideSpanOf, AroundGivenPagesExactlyFarEnough) {
  map(20, 200);
  touch({84, 20});
  EXPECT_TRUE(spanAround(84, 96));
  entries_[20] = 0;
  touch({21});
  EXPECT_FALSE(spanAround(84, 96));
}

// Both bits are gone, and the pages are still there.
TEST_F(WideSpanOf, WasFlushedIfBothAreUntouched) {
  map(0, 512);
  touch({80, 200});
  auto found = span();
  ASSERT_TRUE(found);
  EXPECT_FALSE(wasFlushed(*found, PAGE_TABLE_OF_PAGES, entries_));
  entries_[80] = kEntryPresent;
  EXPECT_FALSE(wasFlushed(*found, PAGE_TABLE_OF_PAGES, entries_));
  entries_[200] = kEntryPresent;
  EXPECT_TRUE(wasFlushed(*found, PAGE_TABLE_OF_PAGES, entries_));
  for (auto kind : {PAGE_TABLE_NONE, PAGE_TABLE_NONE_NEAR, PAGE_TABLE_FAILED, PAGE_TABLE_HUGE})
    EXPECT_FALSE(wasFlushed(*found, kind, entries_)) << kind;
  entries_[200] = 0;
  EXPECT_FALSE(wasFlushed(*found, PAGE_TABLE_OF_PAGES, entries_)) << "it was unmapped";
}

TEST_F(WideSpanOf, AMappingThatBeginsBeforeTheTable) {
  uses_.emplace_back();
  uses_.back().mapping = {.start = kAt - 3 * kTable, .end = kAt + 2 * kTable, .path = {}};
  touch({0, 511});
  auto found = span();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->range.begin, kAt);
  EXPECT_EQ(found->range.end, kAt + kTable);
}

}  // namespace
}  // namespace tidegauge::wss
