#include "wss/pte/glimpses.h"

#include <gtest/gtest.h>

namespace tidegauge::wss {
namespace {

constexpr uint64_t kAddress = 0x7f0000000000;
constexpr uint64_t kThere = kEntryPresent;

// Pages [first, last) of a table.
PageBits::Bits pages(size_t first, size_t last) {
  PageBits::Bits bits{};
  for (size_t i = first; i < last; ++i) bits[i / 64] |= uint64_t{1} << i % 64;
  return bits;
}

MappingUse mapping(uint64_t first_page, uint64_t pages) {
  MappingUse use;
  use.mapping.start = kAddress + first_page * kPage;
  use.mapping.end = use.mapping.start + pages * kPage;
  use.mapping.kind = MappingKind::kFile;
  return use;
}

std::array<__u64, PAGE_TABLE_ENTRIES> table(size_t first, size_t last) {
  std::array<__u64, PAGE_TABLE_ENTRIES> entries{};
  for (size_t i = first; i < last; ++i) entries[i] = kThere;
  return entries;
}

TEST(Glimpses, OfPagesThatAreThereSetTheirBit) {
  Glimpses glimpses;
  glimpses.note({{kAddress, pages(0, 10), pages(0, 4)}});
  glimpses.note({{kAddress, pages(0, 10), pages(6, 8)}});
  auto entries = table(0, 10);
  Entries amended = glimpses.amended(kAddress, PAGE_TABLE_OF_PAGES, entries);
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(isTouched(amended[i]), i < 4 || i == 6 || i == 7) << i;
  EXPECT_EQ(glimpses.goneBytes({mapping(0, 512)}), 0U);
}

TEST(Glimpses, OfReclaimedPagesAreGone) {
  Glimpses glimpses;
  glimpses.note(
      {{kAddress, pages(0, 10), pages(0, 10)}, {kAddress + kTable, pages(0, 512), pages(0, 512)}});
  auto entries = table(7, 10);  // the second table has no memory at all
  (void)glimpses.amended(kAddress, PAGE_TABLE_OF_PAGES, entries);
  EXPECT_EQ(glimpses.goneBytes({mapping(0, 1024)}), (7 + 512) * kPage);
}

// A profile reads several times: a table that was there at the first reading is gone at the second.
TEST(Glimpses, OfALaterReadingForgetWhatWasThereBefore) {
  Glimpses glimpses;
  glimpses.note({{kAddress, pages(0, 10), pages(0, 10)}});
  auto entries = table(0, 10);
  glimpses.beginReading();
  (void)glimpses.amended(kAddress, PAGE_TABLE_OF_PAGES, entries);
  EXPECT_EQ(glimpses.goneBytes({mapping(0, 512)}), 0U);
  glimpses.beginReading();  // it does not visit the table, which has no memory
  EXPECT_EQ(glimpses.goneBytes({mapping(0, 512)}), 10 * kPage);
}

// Anonymous memory without an entry was freed by the process (MADV_DONTNEED, a new mapping).
TEST(Glimpses, OfAnonymousMemoryCountWhatIsInSwap) {
  Glimpses glimpses;
  glimpses.note({{kAddress, pages(0, 10), pages(0, 10)}});
  auto entries = table(7, 10);
  entries[2] = entries[3] = 0x50;  // a place in swap: not zero, not present
  (void)glimpses.amended(kAddress, PAGE_TABLE_OF_PAGES, entries);
  MappingUse heap = mapping(0, 512);
  heap.mapping.kind = MappingKind::kHeap;
  EXPECT_EQ(glimpses.goneBytes({heap}), 2 * kPage);
  EXPECT_EQ(glimpses.goneBytes({mapping(0, 512)}), 7 * kPage);
}

// What the process unmapped was not reclaimed.
TEST(Glimpses, CountOnlyWhatIsStillMapped) {
  Glimpses glimpses;
  glimpses.note({{kAddress, pages(0, 10), pages(0, 10)}});
  auto entries = table(0, 0);
  (void)glimpses.amended(kAddress, PAGE_TABLE_OF_PAGES, entries);
  EXPECT_EQ(glimpses.goneBytes({mapping(0, 2), mapping(8, 100)}), 4 * kPage);
  EXPECT_EQ(glimpses.goneBytes({}), 0U);
}

TEST(Glimpses, OfALargePageAreOfAllOfIt) {
  Glimpses glimpses;
  glimpses.note({{kAddress, pages(0, 512), pages(0, 512)}});
  auto entries = table(0, 1);
  Entries amended = glimpses.amended(kAddress, PAGE_TABLE_HUGE, entries);
  EXPECT_TRUE(isTouched(amended[0]));
  EXPECT_EQ(glimpses.goneBytes({mapping(0, 512)}), 0U);
}

TEST(Glimpses, OfUntouchedTablesAreNone) {
  Glimpses glimpses;
  glimpses.note({{kAddress, pages(0, 10), {}}});
  auto entries = table(0, 10);
  Entries amended = glimpses.amended(kAddress, PAGE_TABLE_OF_PAGES, entries);
  EXPECT_FALSE(isTouched(amended[0]));
  EXPECT_EQ(amended.data(), entries.data());  // nothing is copied
}

}  // namespace
}  // namespace tidegauge::wss
