#include "base/string_pool.h"

#include <gtest/gtest.h>

#include <string>

namespace tidegauge::base {
namespace {

TEST(StringPool, EqualTextsShareAnId) {
  StringPool pool;
  StringId a = pool.intern("forward");
  StringId b = pool.intern("backward");
  EXPECT_NE(a, b);
  EXPECT_EQ(pool.intern(std::string("forward")), a);
  EXPECT_EQ(pool.size(), 2U);
  EXPECT_EQ(pool.text(a), "forward");
  EXPECT_EQ(pool.text(b), "backward");
}

TEST(StringPool, FindDoesNotAdd) {
  StringPool pool;
  EXPECT_FALSE(pool.find("x").valid());
  EXPECT_EQ(pool.size(), 0U);
  StringId x = pool.intern("x");
  EXPECT_EQ(pool.find("x"), x);
}

TEST(StringPool, TextsMayBeEmptyOrHoldNul) {
  StringPool pool;
  StringId empty = pool.intern("");
  StringId nul = pool.intern(std::string_view("a\0b", 3));
  EXPECT_TRUE(empty.valid());
  EXPECT_NE(pool.intern("a"), nul);
  EXPECT_EQ(pool.text(empty), "");
  EXPECT_EQ(pool.text(nul).size(), 3U);
}

TEST(StringPool, InvalidIdsHaveNoText) {
  StringPool pool;
  pool.intern("x");
  EXPECT_EQ(pool.text(StringId()), "");
  EXPECT_EQ(pool.text(StringId(77)), "");
}

TEST(StringPool, StaysFindableAfterGrowthAndMoves) {
  StringPool pool;
  for (int i = 0; i < 10000; ++i) pool.intern("text " + std::to_string(i));
  StringPool moved(std::move(pool));
  StringPool assigned;
  assigned.intern("gone afterwards");
  assigned = std::move(moved);
  EXPECT_EQ(assigned.size(), 10000U);
  EXPECT_FALSE(assigned.find("gone afterwards").valid());
  for (int i = 0; i < 10000; ++i) {
    std::string text = "text " + std::to_string(i);
    ASSERT_EQ(assigned.find(text), StringId(static_cast<uint32_t>(i)));
    ASSERT_EQ(assigned.intern(text), StringId(static_cast<uint32_t>(i)));
  }
}

}  // namespace
}  // namespace tidegauge::base
