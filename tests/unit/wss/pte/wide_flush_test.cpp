// Which part of some tables is made cold so that all of the TLB is flushed.
#include "wss/pte/wide_flush.h"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>

namespace tidegauge::wss {
namespace {

constexpr uint64_t kFlushedAt = 5 * kTable;

class WideSpanOf : public testing::Test {
 protected:
  void touch(std::initializer_list<size_t> pages) {
    for (size_t page : pages) entries_[page] |= kEntryPresent | kEntryAccessed;
  }
  void map(size_t first, size_t last, MappingKind kind = MappingKind::kAnonymous) {
    uses_.emplace_back();
    uses_.back().mapping = {.start = kFlushedAt + first * kPage,
                            .end = kFlushedAt + last * kPage,
                            .kind = kind,
                            .path = {}};
  }
  static bool isAnonymous(const Mapping& mapping) {
    return mapping.kind == MappingKind::kAnonymous;
  }
  std::optional<WideSpan> span() const {
    return wideSpanOf({kFlushedAt, entries_}, uses_, isAnonymous);
  }
  std::optional<WideSpan> spanAround(size_t from, size_t to) const {
    return wideSpanOf({kFlushedAt, entries_}, uses_, isAnonymous,
                      {kFlushedAt + from * kPage, kFlushedAt + to * kPage});
  }
  static uint64_t page(size_t i) { return kFlushedAt + i * kPage; }
  std::array<__u64, size_t{2} * PAGE_TABLE_ENTRIES> entries_{};  // of two tables
  std::vector<MappingUse> uses_;
};

TEST_F(WideSpanOf, FromTheFirstTouchedPageToTheNextThatIsFarFromIt) {
  map(0, 512);
  touch({80, 81, 119, 200, 400});
  auto found = span();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, page(80));
  EXPECT_EQ(found->last, page(200));
  EXPECT_EQ(found->range.begin, kFlushedAt + 64 * kPage);  // so that no folio is cut
  EXPECT_EQ(found->range.end, kFlushedAt + 256 * kPage);
}

TEST_F(WideSpanOf, NotOutsideOfTheMapping) {
  map(10, 102);
  touch({30, 100});
  auto found = span();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->range.begin, kFlushedAt + 10 * kPage);
  EXPECT_EQ(found->range.end, kFlushedAt + 102 * kPage);
}

TEST_F(WideSpanOf, NotIfTheyLieCloseTogether) {
  map(0, 512);
  touch({30, 31, 60, 69});
  EXPECT_FALSE(span());
  touch({70});
  EXPECT_TRUE(span());
}

TEST_F(WideSpanOf, FromOneTableIntoTheNext) {
  map(400, 700);
  touch({490, 530});
  auto found = span();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, page(490));
  EXPECT_EQ(found->last, page(530));
  EXPECT_EQ(found->range.begin, page(448));
  EXPECT_EQ(found->range.end, page(576));
}

// One flush is of one mapping.
TEST_F(WideSpanOf, NotAcrossMappings) {
  map(0, 100);
  map(100, 512);
  touch({10, 110});
  EXPECT_FALSE(span());
  touch({300});
  ASSERT_TRUE(span());
  EXPECT_EQ(span()->first, page(110));
}

TEST_F(WideSpanOf, NotOfWhatIsNotSampled) {
  map(0, 512, MappingKind::kFile);
  touch({10, 300});
  EXPECT_FALSE(span());
}

// The page of zeros keeps its bit.
TEST_F(WideSpanOf, NotOfZeros) {
  map(0, 512);
  touch({0, 300});
  EXPECT_TRUE(span());
  entries_[300] |= kEntrySpecial;
  EXPECT_FALSE(span());
}

TEST_F(WideSpanOf, AroundGivenPagesToLaterOnes) {
  map(0, 512);
  touch({5, 80, 90, 119, 130, 400});
  auto found = spanAround(80, 96);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, page(80));
  EXPECT_EQ(found->last, page(130));
  EXPECT_EQ(found->range.begin, kFlushedAt + 64 * kPage);
  EXPECT_EQ(found->range.end, kFlushedAt + 192 * kPage);
}

TEST_F(WideSpanOf, AroundGivenPagesToThoseBefore) {
  map(0, 512);
  touch({16, 200, 280, 361, 400, 439});
  auto found = spanAround(400, 416);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, page(280));  // the nearest that is far enough
  EXPECT_EQ(found->last, page(400));
  EXPECT_EQ(found->range.begin, kFlushedAt + 256 * kPage);
  EXPECT_EQ(found->range.end, kFlushedAt + 448 * kPage);
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
  touch({60, 20});
  EXPECT_TRUE(spanAround(60, 72));
  entries_[20] = 0;
  touch({21});
  EXPECT_FALSE(spanAround(60, 72));
}

// The bit is clear, and the page is still there.
TEST_F(WideSpanOf, IsColdIfItIsThereAndUntouched) {
  std::array<__u64, PAGE_TABLE_ENTRIES> table{};
  Entries entries(table);
  table[200] = kEntryPresent | kEntryAccessed;
  EXPECT_FALSE(isCold(page(200), PAGE_TABLE_OF_PAGES, entries));
  table[200] = kEntryPresent;
  EXPECT_TRUE(isCold(page(200), PAGE_TABLE_OF_PAGES, entries));
  EXPECT_FALSE(isCold(page(201), PAGE_TABLE_OF_PAGES, entries)) << "it was unmapped";
  for (auto kind : {PAGE_TABLE_NONE, PAGE_TABLE_NONE_NEAR, PAGE_TABLE_FAILED, PAGE_TABLE_HUGE})
    EXPECT_FALSE(isCold(page(200), kind, entries)) << kind;
}

TEST_F(WideSpanOf, AMappingThatBeginsBeforeTheTable) {
  uses_.emplace_back();
  uses_.back().mapping = {
      .start = kFlushedAt - 3 * kTable, .end = kFlushedAt + 3 * kTable, .path = {}};
  touch({0, 1023});
  auto found = span();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->range.begin, kFlushedAt);
  EXPECT_EQ(found->range.end, kFlushedAt + 2 * kTable);
}

}  // namespace
}  // namespace tidegauge::wss
