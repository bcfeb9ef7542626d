#include "wss/machine/lru_gen.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tidegauge::wss {
namespace {

constexpr const char* kTable =
    "memcg     1 /\n"
    " node     0\n"
    "          0      93010        400        300 \n"
    "          1       1004         12          0 \n"
    "memcg    42 /shop/d b\n"
    " node     0\n"
    "          7        200          5          6 \n"
    " node     1\n"
    "          8        200          0 18446744073709551615 \n";

TEST(LruGen, EachCgroupNodeAndGeneration) {
  auto groups = parseLruGen(kTable);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].path, "/");
  ASSERT_EQ(groups[0].nodes.size(), 1U);
  ASSERT_EQ(groups[0].nodes[0].generations.size(), 2U);
  EXPECT_EQ(groups[0].nodes[0].generations[0].anonymous_pages, 400U);
  EXPECT_EQ(groups[0].nodes[0].generations[0].file_pages, 300U);
  EXPECT_EQ(groups[0].nodes[0].generations[1].number, 1U);
  EXPECT_EQ(groups[1].id, 42U);
  EXPECT_EQ(groups[1].path, "/shop/d b");
  ASSERT_EQ(groups[1].nodes.size(), 2U);
  EXPECT_EQ(groups[1].nodes[1].node, 1U);
  EXPECT_EQ(groups[1].nodes[1].generations[0].file_pages, ~uint64_t{0});
}

// A cgroup without memory of its own is missing: its parent above was charged.
TEST(LruGen, WhatHasNoGenerationIsLeftOut) {
  auto groups = parseLruGen(
      "memcg 1 /\n node 0\n 1 2 3 4\n"
      "memcg 2 /a\n"
      "memcg 3 /b\n node 0\n"
      "memcg x /c\n node 0\n 1 2 3 4\n"
      "memcg 5\n node 0\n 1 2 3 4\n");
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].nodes.size(), 1U);
  EXPECT_EQ(groups[0].nodes[0].generations.size(), 1U);
  EXPECT_EQ(groups[1].path, "/");  // a kernel without memory cgroups names none
}

TEST(LruGen, LinesOutOfPlaceOrTooShort) {
  EXPECT_TRUE(parseLruGen("").empty());
  EXPECT_TRUE(parseLruGen(" node 0\n 1 2 3 4\n").empty());
  EXPECT_TRUE(parseLruGen("memcg 1 /\n 1 2 3 4\n").empty());
  EXPECT_TRUE(parseLruGen("memcg 1 /\n node 0\n 1 2 3\n").empty());
  EXPECT_TRUE(parseLruGen("memcg 1 /\n node 0\n 1 2 99999999999999999999 4\n").empty());
  EXPECT_TRUE(parseLruGen("memcg 1 /\n node 0\n -1 2 3 4\n").empty());
  EXPECT_TRUE(parseLruGen("memcg 1 /\n node x\n 1 2 3 4\n").empty());
}

RC_GTEST_PROP(LruGen, AnyPartOfATableOrAnyTextIsTaken, (const std::string& text)) {
  std::string table = kTable;
  auto from = *rc::gen::inRange<size_t>(0, table.size());
  for (const LruGroup& group : parseLruGen(table.substr(from) + text + table.substr(0, from)))
    for (const LruNode& node : group.nodes) RC_ASSERT(!node.generations.empty());
}

TEST(MemoryCgroup, OfBothVersions) {
  EXPECT_EQ(memoryCgroup("0::/shop/db\n"), "/shop/db");
  EXPECT_EQ(memoryCgroup("5:cpu,cpuacct:/c\n4:memory:/a:b\n0::/\n"), "/a:b");
  EXPECT_EQ(memoryCgroup("3:hugetlb,memory:/two\n"), "/two");
  EXPECT_EQ(memoryCgroup("3:memorystick:/x\n0::/u\n"), "/u");
  EXPECT_EQ(memoryCgroup("1:name=systemd:/s\n"), "");
  EXPECT_EQ(memoryCgroup("0:\n:\n\nno\n"), "");
}

TEST(FindGroup, TheNearestThatCounts) {
  auto groups = parseLruGen(kTable);
  auto found = [&](std::string_view path) {
    const LruGroup* group = findGroup(groups, path);
    return group == nullptr ? "" : group->path;
  };
  EXPECT_EQ(found("/shop/d b"), "/shop/d b");
  EXPECT_EQ(found("/shop/d b/below/it"), "/shop/d b");
  EXPECT_EQ(found("/shop"), "/");
  EXPECT_EQ(found("/"), "/");
  EXPECT_EQ(found("shop"), "");
  EXPECT_EQ(found(""), "");
  groups.erase(groups.begin());
  EXPECT_EQ(found("/shop"), "");
}

}  // namespace
}  // namespace tidegauge::wss
