// What page-table entries say, bit by bit (Intel SDM volume 3, 4.5). Real tables:
// tests/wss/truth_test.py.
#include "wss/pages/page_sums.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "support/bytes.h"

namespace tidegauge::wss {
namespace {
bool anyOne(const Mapping&) { return true; }

MappingSums sumsOf(uint64_t entry) {
  std::array<__u64, PAGE_TABLE_ENTRIES> entries{};
  entries[7] = entry;
  MappingSums sums;
  addEntries(sums, entries, 0, PAGE_TABLE_ENTRIES);
  return sums;
}

TEST(AddEntries, WhatIsThereTouchedWritten) {
  constexpr uint64_t kFrame = uint64_t{0x12345} << 12;
  EXPECT_EQ(sumsOf(0).rss, 0U);
  EXPECT_EQ(sumsOf(kFrame | 1).rss, 4096U);
  EXPECT_EQ(sumsOf(kFrame | 1).referenced, 0U);
  EXPECT_EQ(sumsOf(kFrame | 0x21).referenced, 4096U);
  EXPECT_EQ(sumsOf(kFrame | 0x21).dirty, 0U);
  EXPECT_EQ(sumsOf(kFrame | 0x61).dirty, 4096U);
  EXPECT_EQ(sumsOf(kFrame | 0x221).rss, 0U) << "the shared page of zeros is nobody's memory";
  EXPECT_EQ(sumsOf(kFrame | 0x100).rss, 4096U) << "hidden by NUMA balancing, but there";
  EXPECT_EQ(sumsOf(kFrame | 0x100).swap, 0U);
}

TEST(AddEntries, SwappedPagesAreNeitherThereNorTouched) {
  constexpr uint64_t kFile3 = (uint64_t{3} << 59) | (uint64_t{0x7ffff} << 14) | 0x20;
  EXPECT_EQ(sumsOf(kFile3).swap, 4096U);
  EXPECT_EQ(sumsOf(kFile3).referenced, 0U);
  EXPECT_EQ(sumsOf(kFile3).rss, 0U);
  EXPECT_EQ(sumsOf(uint64_t{31} << 59 | 2).swap, 0U) << "a page on the move, or a mark";
}

RC_GTEST_PROP(AddEntries, OnlyOfTheMapping, (std::array<uint64_t, 8> some)) {
  std::array<__u64, PAGE_TABLE_ENTRIES> entries{};
  for (size_t i = 0; i < entries.size(); ++i) entries[i] = some[i % 8];
  size_t first = *rc::gen::inRange<size_t>(0, PAGE_TABLE_ENTRIES);
  size_t last = *rc::gen::inRange<size_t>(first, PAGE_TABLE_ENTRIES + 1);
  MappingSums all, parts;
  addEntries(all, entries, 0, PAGE_TABLE_ENTRIES);
  addEntries(parts, entries, 0, first);
  addEntries(parts, entries, first, last);
  addEntries(parts, entries, last, PAGE_TABLE_ENTRIES);
  RC_ASSERT(parts.rss == all.rss);
  RC_ASSERT(parts.referenced == all.referenced);
  RC_ASSERT(parts.swap == all.swap);
  RC_ASSERT(all.referenced <= all.rss);
  RC_ASSERT(all.rss + all.swap <= 2 * kMiB);
}

// Full tables have a fast path: it gives the sum of its entries, and so does a table with one
// different page.
RC_GTEST_PROP(AddEntries, OfAFullTableAreThoseOfEachEntry, ()) {
  std::array<__u64, PAGE_TABLE_ENTRIES> entries{};
  for (__u64& entry : entries)
    entry = (uint64_t{0x12345} << 12) | kEntryPresent |
            (*rc::gen::inRange<uint64_t>(0, 4) * kEntryAccessed);
  if (*rc::gen::arbitrary<bool>()) {
    size_t at = *rc::gen::inRange<size_t>(0, PAGE_TABLE_ENTRIES);
    entries[at] = *rc::gen::element<uint64_t>(0, kEntryHidden, (uint64_t{3} << 59) | 0x40,
                                              entries[at] | kEntrySpecial);
  }
  MappingSums all, each;
  addEntries(all, entries, 0, PAGE_TABLE_ENTRIES);
  for (__u64 entry : entries) each.add(sumsOf(entry));
  RC_ASSERT(all.rss == each.rss);
  RC_ASSERT(all.referenced == each.referenced);
  RC_ASSERT(all.dirty == each.dirty);
  RC_ASSERT(all.swap == each.swap);
}

TEST(AddLarge, CountsAsAWhole) {
  MappingSums sums;
  addLarge(sums, 0x80 | 0x21, 2 * kMiB, MappingKind::kAnonymous);
  addLarge(sums, 0x80 | 0x01, 2 * kMiB, MappingKind::kAnonymous);
  EXPECT_EQ(sums.rss, 4 * kMiB);
  EXPECT_EQ(sums.huge, 4 * kMiB);
  EXPECT_EQ(sums.referenced, 2 * kMiB);
  addLarge(sums, 0x80 | 0x21, 2 * kMiB, MappingKind::kHugetlb);
  EXPECT_EQ(sums.hugetlb, 2 * kMiB);
  EXPECT_EQ(sums.rss, 4 * kMiB);
}

// arm64 has reserved huge pages of 64 KiB: 16 entries of a table of pages.
TEST(MappingWalk, ReservedPagesOfATableAreNoRss) {
  std::vector<MappingUse> uses(1);
  uses[0].mapping.start = kTable;
  uses[0].mapping.end = kTable + 16 * kPage;
  uses[0].mapping.kind = MappingKind::kHugetlb;
  std::array<__u64, PAGE_TABLE_ENTRIES> entries{};
  std::fill_n(entries.begin(), 16, kEntryPresent | kEntryAccessed);
  MappingSums sums;
  MappingWalk(uses, anyOne)
      .visit(
          kTable, PAGE_TABLE_OF_PAGES, Entries(entries), 0, PAGE_TABLE_ENTRIES,
          [&](MappingUse&, const MappingSums& of_mapping, size_t, size_t) { sums = of_mapping; });
  EXPECT_EQ(sums.hugetlb, 16 * kPage);
  EXPECT_EQ(sums.rss, 0U);
  EXPECT_EQ(sums.referenced, 0U);
}

// What the bits say adds up to what the sums say, entry by entry.
RC_GTEST_PROP(BitsOf, AreTheSums, ()) {
  std::vector<__u64> entries(PAGE_TABLE_ENTRIES);
  for (auto& entry : entries)
    entry = *rc::gen::element<uint64_t>(0, kEntryPresent, kEntryPresent | kEntryAccessed,
                                        kEntryHidden | kEntryAccessed, kEntryAccessed,
                                        kEntryPresent | kEntryAccessed | kEntrySpecial);
  Entries all(entries.data(), entries.size());
  PageBits bits = bitsOf(kTable, PAGE_TABLE_OF_PAGES, all);
  RC_ASSERT(bits.table == kTable);
  for (size_t i = 0; i < entries.size(); ++i) {
    MappingSums sums;
    addEntries(sums, all, i, i + 1);
    RC_ASSERT(PageBits::at(bits.there, i) == (sums.rss != 0));
    RC_ASSERT(PageBits::at(bits.touched, i) == (sums.referenced != 0));
  }
}

TEST(BitsOf, ALargePageIsAllOfItsPages) {
  std::vector<__u64> entries(PAGE_TABLE_ENTRIES);
  Entries all(entries.data(), entries.size());
  entries[0] = kEntryPresent | kEntryAccessed;
  EXPECT_TRUE(PageBits::at(bitsOf(0, PAGE_TABLE_HUGE, all).touched, 511));
  entries[0] = kEntryPresent;
  EXPECT_TRUE(PageBits::at(bitsOf(0, PAGE_TABLE_GIANT, all).there, 511));
  EXPECT_FALSE(PageBits::at(bitsOf(0, PAGE_TABLE_GIANT, all).touched, 0));
}

}  // namespace
}  // namespace tidegauge::wss
