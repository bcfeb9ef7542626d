// Tables as runs, compared with sets of their addresses.
#include "wss/pte/table_runs.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace tidegauge::wss {
namespace {

using Addresses = std::vector<uint64_t>;

bool anyOne(const Mapping&) { return true; }

MappingUse use(uint64_t start, uint64_t end) {
  MappingUse one;
  one.mapping.start = start;
  one.mapping.end = end;
  return one;
}

TEST(TableRuns, EachOverlappedTableOnce) {
  TableRuns runs;
  EXPECT_TRUE(runs.empty());
  EXPECT_EQ(runs.count(), 0U);
  runs.add(0x1000, 0x1000);
  EXPECT_TRUE(runs.empty());
  runs.add(0x1000, 0x2000);
  runs.add(0x3000, 0x200001);
  runs.add(0x800000, 0x800001);
  EXPECT_EQ(runs.addresses(), (Addresses{0, 0x200000, 0x800000}));
  EXPECT_EQ(runs.count(), 3U);
  EXPECT_TRUE(runs.has(0x200000));
  EXPECT_FALSE(runs.has(0x400000));
}

// Few places, so that runs touch, overlap and are alike.
TableRuns runsOf(const std::set<uint64_t>& tables) {
  TableRuns runs;
  for (uint64_t table : tables) runs.add(table * kTable, table * kTable + 1);
  return runs;
}
std::set<uint64_t> anyTables() {
  auto some = *rc::gen::container<std::vector<uint64_t>>(rc::gen::inRange<uint64_t>(0, 40));
  return {some.begin(), some.end()};
}
Addresses addressesOf(const std::set<uint64_t>& tables) {
  Addresses all;
  for (uint64_t table : tables) all.push_back(table * kTable);
  return all;
}

RC_GTEST_PROP(TableRuns, AreWhatSetsOfAddressesAre, ()) {
  std::set<uint64_t> one = anyTables(), other = anyTables(), both, rest;
  std::ranges::set_union(one, other, std::inserter(both, both.end()));
  std::ranges::set_difference(one, other, std::inserter(rest, rest.end()));
  TableRuns runs = runsOf(one);
  RC_ASSERT(runs.count() == one.size());
  RC_ASSERT(runs.addresses() == addressesOf(one));
  RC_ASSERT(runs.with(runsOf(other)).addresses() == addressesOf(both));
  RC_ASSERT(runs.without(runsOf(other)).addresses() == addressesOf(rest));
  size_t i = 0;
  for (uint64_t table : one) RC_ASSERT(runs.at(i++) == table * kTable);
  for (uint64_t table = 0; table < 42; ++table)
    RC_ASSERT(runs.has(table * kTable) == one.contains(table));
}

TEST(TablesOf, EachOnceInOrder) {
  EXPECT_TRUE(tablesOf({}, anyOne).empty());
  EXPECT_EQ(tablesOf({use(0x1000, 0x2000), use(0x3000, 0x200000), use(0x200000, 0x201000)}, anyOne)
                .addresses(),
            (Addresses{0, 0x200000}));
  EXPECT_EQ(
      tablesOf({use(0x1ff000, 0x600000), use(0x600000, 0x601000), use(0x40000000, 0x40001000)},
               anyOne)
          .addresses(),
      (Addresses{0, 0x200000, 0x400000, 0x600000, 0x40000000}));
}

// Compared with a check of each 2 MiB, in 4 GiB of which any are empty.
RC_GTEST_PROP(TablesOf, ThoseThatAMappingReachesInto, ()) {
  constexpr uint64_t kEnd = 4 * kGiant, kTables = kEnd / kTable;
  Addresses borders = *rc::gen::container<Addresses>(rc::gen::inRange<uint64_t>(0, kEnd / kPage));
  std::ranges::sort(borders);
  std::vector<MappingUse> uses;
  for (size_t i = 0; i + 1 < borders.size(); i += 2)
    if (borders[i] < borders[i + 1])
      uses.push_back(use(borders[i] * kPage, borders[i + 1] * kPage));
  Addresses empty, expected;
  for (uint64_t giant = 0; giant < kEnd; giant += kGiant)
    if (*rc::gen::arbitrary<bool>()) empty.push_back(giant);
  for (uint64_t i = 0; i < kTables; ++i) {
    uint64_t begin = i * kTable, end = begin + kTable;
    bool is_mapped = std::ranges::any_of(uses, [&](const MappingUse& one) {
      return one.mapping.start < end && one.mapping.end > begin;
    });
    if (is_mapped && !std::ranges::binary_search(empty, begin / kGiant * kGiant))
      expected.push_back(begin);
  }
  RC_ASSERT(tablesOf(uses, anyOne, empty).addresses() == expected);
}

TEST(TablesOf, NoneOfAGiantThatIsEmpty) {
  std::vector<MappingUse> uses{use(0x3fe00000, 0x140200000), use(0x140200000, 0x140201000)};
  EXPECT_EQ(giantsOf(uses, anyOne),
            (Addresses{0, 0x40000000, 0x80000000, 0xc0000000, 0x100000000, 0x140000000}));
  EXPECT_EQ(tablesOf(uses, anyOne, Addresses{0x40000000, 0x80000000, 0xc0000000, 0x100000000})
                .addresses(),
            (Addresses{0x3fe00000, 0x140000000, 0x140200000}));
  EXPECT_TRUE(tablesOf(uses, anyOne,
                       Addresses{0, 0x40000000, 0x80000000, 0xc0000000, 0x100000000, 0x140000000})
                  .empty());
}

}  // namespace
}  // namespace tidegauge::wss
