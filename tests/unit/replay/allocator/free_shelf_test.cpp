// FreeShelf against a set of the same keys.
#include "replay/allocator/free_shelf.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tidegauge::replay {
namespace {

std::vector<uint64_t> forwards(const FreeShelf& shelf) {
  std::vector<uint64_t> found;
  for (auto at = shelf.begin(); at != shelf.end(); at = shelf.next(at))
    found.push_back(shelf[at].address);
  return found;
}

std::vector<uint64_t> backwards(const FreeShelf& shelf) {
  std::vector<uint64_t> found;
  for (auto at = shelf.previous(shelf.end()); at != shelf.end(); at = shelf.previous(at))
    found.push_back(shelf[at].address);
  return {found.rbegin(), found.rend()};
}

TEST(FreeShelf, IsWhatASetIs) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    FreeShelf shelf;
    std::set<FreeKey> set;
    uint32_t keys = seed % 2 == 0 ? 2000 : 100;
    for (int i = 0; i < 4000; ++i) {
      // Few sizes and addresses: equal ones, and keys that are there already.
      auto upTo = [&](uint32_t end) { return static_cast<uint32_t>(random() % end); };
      FreeKey key{512 * upTo(20), upTo(3), BlockId(upTo(9)), upTo(keys)};
      if (random() % 5 < 3) {
        shelf.insert(key);
        set.insert(key);
      } else {
        shelf.erase(key);
        set.erase(key);
      }
      uint64_t bytes = 512 * (random() % 22);
      auto found = shelf.atLeast(bytes);
      auto wanted = set.lower_bound(FreeKey{bytes, 0, BlockId(), 0});
      ASSERT_EQ(found == shelf.end(), wanted == set.end());
      if (wanted != set.end()) {
        ASSERT_EQ(shelf[found].address, wanted->address);
        ASSERT_EQ(shelf[found].block, wanted->block);
      }
    }
    std::vector<uint64_t> wanted;
    for (const FreeKey& key : set) wanted.push_back(key.address);
    EXPECT_EQ(forwards(shelf), wanted);
    EXPECT_EQ(backwards(shelf), wanted);
    EXPECT_EQ(shelf.empty(), set.empty());
  }
}

TEST(FreeShelf, AnEmptyOneHasNoFirst) {
  FreeShelf shelf;
  EXPECT_TRUE(shelf.empty());
  EXPECT_EQ(shelf.begin(), shelf.end());
  EXPECT_EQ(shelf.previous(shelf.end()), shelf.end());
  EXPECT_EQ(shelf.atLeast(0), shelf.end());
  shelf.erase(FreeKey{512, 0, BlockId(), 0});
  EXPECT_TRUE(shelf.empty());
}

}  // namespace
}  // namespace tidegauge::replay
