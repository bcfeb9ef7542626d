#include "query/scan/order_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <numeric>
#include <random>
#include <thread>

#include "query/scan/columns.h"

namespace tidegauge::query {
namespace {

using Values = std::vector<std::vector<int64_t>>;

Table tableOf(const Values& columns) {
  Table table;
  setRows(table, columns[0].size());
  for (const auto& values : columns) {
    add(table, ColumnKind::kInteger, "x", "", eachRow([&values](Row row) { return values[row]; }));
  }
  return table;
}

RowOrder slowOrder(const Values& columns, const std::vector<SortColumn>& by) {
  RowOrder order(columns[0].size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    for (const SortColumn& column : by) {
      int64_t x = columns[static_cast<size_t>(column.column)][a];
      int64_t y = columns[static_cast<size_t>(column.column)][b];
      if (x != y) return column.descending ? x > y : x < y;
    }
    return false;
  });
  return order;
}

TEST(OrderIndex, SortsAsAStableSortDoes) {
  std::mt19937_64 random(3);
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (int round = 0; round < 60; ++round) {
    size_t rows = random() % 3000 + 1;
    Values columns(2, std::vector<int64_t>(rows));
    uint64_t mask = ~uint64_t{0} >> (random() % 64);
    for (int64_t& value : columns[0]) value = static_cast<int64_t>(random() & mask);
    for (int64_t& value : columns[1]) value = static_cast<int64_t>(random() % 5) - 2;
    for (int n = 0; n < 5; ++n) {
      columns[0][random() % rows] = kNull;
      columns[1][random() % rows] = random() % 2 == 0 ? kNull : kMax;
    }
    Table table = tableOf(columns);
    for (const std::vector<SortColumn>& by : std::vector<std::vector<SortColumn>>{
             {{0, false}}, {{0, true}}, {{1, false}, {0, true}}, {{1, true}, {0, false}}}) {
      ASSERT_EQ(*rowsBy(table, by), slowOrder(columns, by)) << "round " << round;
    }
  }
}

TEST(OrderIndex, FindsRanges) {
  Values columns = {{5, kNull, 7, 5, 9}};
  Table table = tableOf(columns);
  RowOrder order = *rowsBy(table, {{0, false}});
  auto range = [&](int64_t low, int64_t high) {
    OrderRange found = findRange(table, 0, order, low, high);
    return RowOrder(order.begin() + static_cast<ptrdiff_t>(found.begin),
                    order.begin() + static_cast<ptrdiff_t>(found.end));
  };
  EXPECT_EQ(range(5, 5), (RowOrder{0, 3}));
  EXPECT_EQ(range(6, 8), (RowOrder{2}));
  EXPECT_EQ(range(kNull, kNull), (RowOrder{1}));
  EXPECT_EQ(range(10, 20), RowOrder());
}

TEST(OrderIndex, CacheKeepsWhatFitsTheBudget) {
  Values columns = {{3, 1, 2}, {1, 2, 3}};
  Table table = tableOf(columns);
  OrderCache cache(12);  // room for one order of three rows
  auto first = cache.get(table, {{0, false}});
  EXPECT_EQ(cache.get(table, {{0, false}}), first);
  cache.get(table, {{0, true}});
  EXPECT_EQ(*first, (RowOrder{1, 2, 0})) << "who holds an order keeps it";
  EXPECT_NE(cache.get(table, {{0, false}}), first) << "dropped, so made again";
}

TEST(OrderCache, ADeadlineEndsTheSortAndLeavesNothing) {
  Values columns = {{3, 1, 2}};
  Table table = tableOf(columns);
  std::stop_source stop;
  stop.request_stop();
  Deadline passed;
  passed.stop = stop.get_token();
  OrderCache cache;
  EXPECT_EQ(cache.get(table, {{0, false}}, passed), nullptr);
  EXPECT_EQ(*cache.get(table, {{0, false}}), (RowOrder{1, 2, 0})) << "the next one builds it";
}

// A query that waits for another's sort waits at most until its own deadline.
TEST(OrderCache, WaitingForAnothersSortEndsWithTheDeadline) {
  std::latch sorting(1);
  std::latch finish(1);
  Values columns = {{3, 1, 2}};
  Table table = tableOf(columns);
  auto values = table.columns[0].fill;
  table.columns[0].fill = [&, values](const Row* rows, size_t count, int64_t* keys) {
    sorting.count_down(sorting.try_wait() ? 0 : 1);
    finish.wait();
    values(rows, count, keys);
  };
  Values two = {{2, 1}};
  Table other = tableOf(two);
  OrderCache cache;
  std::jthread builder([&] { cache.get(table, {{0, false}}); });
  sorting.wait();
  EXPECT_EQ(*cache.get(other, {{0, false}}), (RowOrder{1, 0})) << "other orders are had meanwhile";
  Deadline soon;
  soon.at = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  EXPECT_EQ(cache.get(table, {{0, false}}, soon), nullptr);
  finish.count_down();
}

}  // namespace
}  // namespace tidegauge::query
