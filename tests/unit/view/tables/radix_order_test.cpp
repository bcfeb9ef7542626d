#include "view/tables/radix_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tidegauge::view {
namespace {

std::vector<uint32_t> rowsOf(const std::vector<OrderKey>& keys) {
  std::vector<uint32_t> rows;
  for (const OrderKey& key : keys) rows.push_back(key.row);
  return rows;
}

TEST(RadixOrder, SortsAsAStableSortDoes) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 100; ++round) {
    std::vector<OrderKey> keys(random() % 4000);
    uint64_t mask = ~uint64_t{0} >> (random() % 64);
    uint64_t base = random() % 2 == 0 ? 0 : random() & ~mask;
    for (uint32_t row = 0; row < keys.size(); ++row) keys[row] = {base + (random() & mask), row};
    if (!keys.empty() && round % 3 == 0) keys[0].value = ~uint64_t{0};
    if (keys.size() > 1 && round % 5 == 0) keys[1].value = 0;
    std::vector<OrderKey> expected = keys;
    std::stable_sort(expected.begin(), expected.end(),
                     [](const OrderKey& a, const OrderKey& b) { return a.value < b.value; });
    sortByValue(keys);
    ASSERT_EQ(rowsOf(keys), rowsOf(expected)) << "round " << round;
  }
}

}  // namespace
}  // namespace tidegauge::view
