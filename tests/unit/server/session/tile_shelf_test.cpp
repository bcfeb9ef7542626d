#include "server/session/tile_shelf.h"

#include <gtest/gtest.h>

#include <latch>
#include <stdexcept>
#include <thread>

namespace tidegauge::server {
namespace {

TileShelf::Tile tile(std::string bytes) { return std::make_shared<const std::string>(bytes); }

TEST(TileShelf, ComputesATileOnce) {
  TileShelf shelf;
  int computed = 0;
  auto compute = [&] { return tile(std::to_string(++computed)); };
  EXPECT_EQ(*shelf.get("a", {}, compute), "1");
  EXPECT_EQ(*shelf.get("a", {}, compute), "1");
  EXPECT_EQ(*shelf.get("b", {}, compute), "2");
  EXPECT_EQ(shelf.bytes(), 4U);
}

TEST(TileShelf, DropsTheTilesThatWereNotAskedForTheLongest) {
  TileShelf shelf;
  int computed = 0;
  auto third = [&] {
    ++computed;
    return tile(std::string(TileShelf::kMostBytes / 3 - 1, 'x'));
  };
  for (const char* key : {"a", "b", "c", "a", "d"}) shelf.get(key, {}, third);
  EXPECT_EQ(computed, 4);
  EXPECT_LE(shelf.bytes(), TileShelf::kMostBytes);
  shelf.get("a", {}, third);
  EXPECT_EQ(computed, 4) << "asked for after b";
  shelf.get("b", {}, third);
  EXPECT_EQ(computed, 5) << "b made room for d";
}

TEST(TileShelf, KeepsNoTileThatIsLargerThanItself) {
  TileShelf shelf;
  EXPECT_NE(shelf.get("a", {}, [] { return tile(std::string(TileShelf::kMostBytes + 1, 'x')); }),
            nullptr);
  EXPECT_EQ(shelf.bytes(), 0U);
}

TEST(TileShelf, AskersOfOneTileShareItsWork) {
  TileShelf shelf;
  std::latch begun(1), wanted(1);
  std::thread first([&] {
    shelf.get("a", {}, [&] {
      begun.count_down();
      wanted.wait();
      return tile("first");
    });
  });
  begun.wait();
  std::thread second(
      [&] { EXPECT_EQ(*shelf.get("a", {}, [] { return tile("second"); }), "first"); });
  wanted.count_down();
  first.join();
  second.join();
}

TEST(TileShelf, WhatWasStoppedOrFailedIsComputedByTheNextAsker) {
  TileShelf shelf;
  std::latch begun(1), wanted(1);
  std::thread first([&] {
    TileShelf::Tile none = shelf.get("a", {}, [&]() -> TileShelf::Tile {
      begun.count_down();
      wanted.wait();
      return nullptr;
    });
    EXPECT_EQ(none, nullptr);
  });
  begun.wait();
  std::thread second(
      [&] { EXPECT_EQ(*shelf.get("a", {}, [] { return tile("second"); }), "second"); });
  wanted.count_down();
  first.join();
  second.join();
  EXPECT_THROW(shelf.get("b", {}, []() -> TileShelf::Tile { throw std::bad_alloc(); }),
               std::bad_alloc);
  EXPECT_EQ(*shelf.get("b", {}, [] { return tile("again"); }), "again");
}

}  // namespace
}  // namespace tidegauge::server
