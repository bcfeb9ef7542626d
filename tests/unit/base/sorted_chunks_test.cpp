#include "base/sorted_chunks.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace tidegauge::base {
namespace {

struct Itself {
  uint64_t operator()(uint64_t item) const { return item; }
};
using Chunks = SortedChunks<uint64_t, Itself>;

std::vector<uint64_t> itemsOf(const Chunks& chunks) {
  std::vector<uint64_t> items;
  for (auto at = chunks.lowerBound(0); at != chunks.end(); at = chunks.next(at)) {
    items.push_back(chunks.at(at));
  }
  return items;
}

TEST(SortedChunks, EmptyHasNothingBeforeItsEnd) {
  Chunks chunks;
  EXPECT_EQ(chunks.lowerBound(5), chunks.end());
  EXPECT_EQ(chunks.previous(chunks.end()), chunks.end());
}

TEST(SortedChunks, FindsNeighboursAcrossChunks) {
  Chunks chunks;
  for (uint64_t i = 0; i < 5000; ++i) chunks.insert(2 * (4999 - i));
  ASSERT_EQ(chunks.size(), 5000U);
  for (uint64_t i = 0; i < 4999; ++i) {
    auto above = chunks.lowerBound(2 * i + 1);
    ASSERT_EQ(chunks.at(above), 2 * i + 2);
    ASSERT_EQ(chunks.at(chunks.previous(above)), 2 * i);
  }
  auto last = chunks.previous(chunks.end());
  EXPECT_EQ(chunks.at(last), 9998U);
  EXPECT_EQ(chunks.next(last), chunks.end());
}

// Whatever is inserted and erased, the order is that of a multiset.
RC_GTEST_PROP(SortedChunks, BehavesAsAMultiset, (const std::vector<uint16_t>& words)) {
  Chunks chunks;
  std::multiset<uint64_t> model;
  for (int round = 0; round < 40; ++round) {
    for (uint16_t word : words) {
      uint64_t key = (word * 7919U + static_cast<unsigned>(round) * 131U) % 5000;
      auto at = chunks.lowerBound(key);
      bool there = at != chunks.end() && chunks.at(at) == key;
      RC_ASSERT(there == (model.count(key) > 0));
      if (there && word % 3 == 0) {
        chunks.erase(at);
        model.erase(model.find(key));
      } else {
        chunks.insert(key);
        model.insert(key);
      }
    }
  }
  RC_ASSERT(chunks.size() == model.size());
  RC_ASSERT(itemsOf(chunks) == std::vector<uint64_t>(model.begin(), model.end()));
}

}  // namespace
}  // namespace tidegauge::base
