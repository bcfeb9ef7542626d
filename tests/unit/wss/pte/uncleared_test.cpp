// What a sample could not clear, for parts with given entries and pagemap.
#include "wss/pte/uncleared.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "unit/wss/fake_proc.h"
#include "wss/pages/pagemap.h"

namespace tidegauge::wss {
namespace {

constexpr uint64_t kTouched = kEntryPresent | kEntryAccessed, kOwn = kTouched | kEntryWritable;
constexpr size_t kPart = 16;  // examined pages, from the beginning of each table

class UnclearedOf : public testing::Test {
 protected:
  using Table = std::array<__u64, PAGE_TABLE_ENTRIES>;
  static Table tableOf(uint64_t entry, size_t pages = kPart) {
    Table table{};
    std::fill_n(table.begin(), pages, entry);
    return table;
  }
  // Tables 0, 1, …: as they were before the clearing and are after it.
  void look(const std::vector<std::pair<Table, Table>>& tables) {
    uncleared_.begin();
    for (size_t i = 0; i < tables.size(); ++i)
      uncleared_.look(i * kTable, PAGE_TABLE_OF_PAGES, tables[i].first, 0, kPart);
    for (size_t i = 0; i < tables.size(); ++i)
      uncleared_.lookAgain(i * kTable, PAGE_TABLE_OF_PAGES, tables[i].second);
  }
  void writePagemap(uint64_t word, size_t tables) {
    std::vector<uint64_t> words(tables * PAGE_TABLE_ENTRIES, word);
    std::string text(words.size() * sizeof(uint64_t), '\0');
    std::memcpy(text.data(), words.data(), text.size());
    proc_.write("pagemap", text);
  }
  void keep(std::span<const AddressRange> locked = {}) {
    auto process = Process::open(423, proc_.root());
    ASSERT_TRUE(process.ok());
    uncleared_.keep(process.value(), locked);
  }
  // In pages; of the sample all are touched when the window is over.
  double pagesOf(size_t table, page_table_kind kind = PAGE_TABLE_OF_PAGES) {
    Table now = tableOf(kTouched);
    return uncleared_.bytesOf(table * kTable, kind, now, 0, kPart, 1);
  }
  FakeProc proc_;
  Uncleared uncleared_;
};

TEST_F(UnclearedOf, WhatOthersMap) {
  writePagemap(kPagemapPresent, 2);
  look({{tableOf(kTouched), tableOf(kTouched)}, {tableOf(kTouched, 5), tableOf(kTouched)}});
  keep();
  EXPECT_EQ(pagesOf(0), 16);
  EXPECT_EQ(pagesOf(1), 5) << "the others were untouched";
}

TEST_F(UnclearedOf, NotWhatIsExclusive) {
  writePagemap(kPagemapPresent | kPagemapExclusive, 1);
  look({{tableOf(kTouched), tableOf(kTouched)}});
  keep();
  EXPECT_EQ(pagesOf(0), 0);
}

// pagemap says otherwise.
TEST_F(UnclearedOf, NotWhatCanBeWrittenToAfterTheClearing) {
  writePagemap(kPagemapPresent, 1);
  Table after = tableOf(kOwn);
  after[3] = kTouched;
  look({{tableOf(kOwn), after}});
  keep();
  EXPECT_EQ(pagesOf(0), 1);
}

// A fork between the look and the clearing takes the right to write from all pages.
TEST_F(UnclearedOf, WhatCouldBeWrittenToBeforeAlone) {
  writePagemap(kPagemapPresent, 1);
  look({{tableOf(kOwn), tableOf(kTouched)}});
  keep();
  EXPECT_EQ(pagesOf(0), 16);
}

TEST_F(UnclearedOf, HugePages) {
  writePagemap(kPagemapPresent, 3);
  for (auto [after, kind, pages] :
       {std::tuple{kOwn, PAGE_TABLE_HUGE, 0}, std::tuple{kTouched, PAGE_TABLE_HUGE, 16},
        std::tuple{kOwn, PAGE_TABLE_OF_PAGES, 16}}) {  // it was split meanwhile
    uncleared_.begin();
    uncleared_.look(0, PAGE_TABLE_HUGE, tableOf(kOwn), 0, PAGE_TABLE_ENTRIES);
    uncleared_.lookAgain(0, kind, tableOf(after));
    keep();
    EXPECT_EQ(pagesOf(0, PAGE_TABLE_HUGE), pages) << after << " " << kind;
  }
}

TEST_F(UnclearedOf, WhatIsLockedThoughItCanBeWrittenTo) {
  std::vector<std::pair<Table, Table>> tables(4, {tableOf(kOwn), tableOf(kOwn)});
  look(tables);
  keep(std::array{AddressRange{kTable, kTable + kPart * kPage},
                  AddressRange{3 * kTable + 4 * kPage, 3 * kTable + 6 * kPage}});
  EXPECT_EQ(pagesOf(0), 0);
  EXPECT_EQ(pagesOf(1), 16);
  EXPECT_EQ(pagesOf(2), 0);
  EXPECT_EQ(pagesOf(3), 2);
}

TEST_F(UnclearedOf, NothingIfTheKernelDoesNotReport) {
  look({{tableOf(kTouched), tableOf(kTouched)}});
  keep();
  EXPECT_EQ(pagesOf(0), 0);
}

// If there are many parts, some are checked and stand for all.
TEST_F(UnclearedOf, ManyParts) {
  constexpr size_t kTables = 300;
  writePagemap(kPagemapPresent, kTables);
  look(std::vector<std::pair<Table, Table>>(kTables, {tableOf(kTouched), tableOf(kTouched)}));
  keep();
  double pages = 0;
  for (size_t i = 0; i < kTables; ++i) pages += pagesOf(i);
  EXPECT_EQ(pages, kTables * kPart);
}

}  // namespace
}  // namespace tidegauge::wss
