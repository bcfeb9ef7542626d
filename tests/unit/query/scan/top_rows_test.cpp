#include "query/scan/top_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace tidegauge::query {
namespace {

using Values = std::vector<std::vector<int64_t>>;

RowOrder slowTop(const Values& columns, const TopRows::Order& order, size_t count) {
  RowOrder rows(columns[0].size());
  std::iota(rows.begin(), rows.end(), 0U);
  auto isBefore = [&](uint32_t a, uint32_t b) {
    for (const SortColumn& column : order.columns) {
      int64_t x = columns[static_cast<size_t>(column.column)][a];
      int64_t y = columns[static_cast<size_t>(column.column)][b];
      if (x != y) return (x < y) != (column.descending != order.backward);
    }
    return order.backward && !order.earlier_first ? a > b : a < b;
  };
  std::sort(rows.begin(), rows.end(), isBefore);
  rows.resize(std::min(rows.size(), count));
  return rows;
}

TEST(TopRows, AreTheFirstOfASort) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 60; ++round) {
    size_t count = random() % 9000 + 1;
    uint64_t mask = ~uint64_t{0} >> (random() % 64);
    Values columns(2, std::vector<int64_t>(count));
    for (auto& values : columns) {
      for (int64_t& value : values) value = static_cast<int64_t>(random() & mask);
      values[random() % count] = kNull;
      values[random() % count] = std::numeric_limits<int64_t>::max();
    }
    TopRows::Order order{{{0, random() % 2 == 0}}, random() % 2 == 0, random() % 2 == 0};
    if (random() % 2 == 0) order.columns.push_back({1, random() % 2 == 0});
    size_t wanted = random() % 3 == 0 ? random() % 10'000 + 1 : random() % 20 + 1;
    TopRows top(order, wanted);
    for (size_t begin = 0; begin < count; begin += 512) {
      size_t taken = std::min<size_t>(512, count - begin);
      std::vector<Row> rows(taken);
      std::iota(rows.begin(), rows.end(), Row{begin});
      top.take(rows.data(), taken, [&](size_t column) { return columns[column].data() + begin; });
    }
    ASSERT_EQ(top.rows(), slowTop(columns, order, wanted)) << "round " << round;
  }
}

}  // namespace
}  // namespace tidegauge::query
