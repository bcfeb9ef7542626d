#include "server/session/what_if_board.h"

#include <gtest/gtest.h>

#include <thread>

namespace tidegauge::server {
namespace {

TEST(WhatIfBoard, ComputesOnceAndReportsMeanwhile) {
  WhatIfBoard board;
  int times = 0;
  auto compute = [&](const WhatIfBoard::Report& report) -> std::optional<std::string> {
    ++times;
    EXPECT_TRUE(board.progressOf("a").is_running);
    report(4, 12);
    EXPECT_EQ(board.progressOf("a").done, 4U);
    EXPECT_EQ(board.progressOf("a").of, 12U);
    EXPECT_FALSE(board.progressOf("b").is_running);
    return "answer";
  };
  EXPECT_EQ(board.get("a", {}, compute), "answer");
  EXPECT_EQ(board.get("a", {}, compute), "answer");
  EXPECT_EQ(times, 1);
  EXPECT_FALSE(board.progressOf("a").is_running);
}

TEST(WhatIfBoard, AStoppedAnswerIsComputedAnewByWhoWaits) {
  WhatIfBoard board;
  std::stop_source first_client;
  std::atomic<bool> runs = false;
  std::jthread first([&] {
    auto stopped = board.get("a", first_client.get_token(), [&](const auto&) {
      runs = true;
      while (!first_client.stop_requested()) std::this_thread::yield();
      return std::optional<std::string>();
    });
    EXPECT_FALSE(stopped.has_value());
  });
  while (!runs) std::this_thread::yield();
  std::jthread second([&] {
    EXPECT_EQ(board.get("a", {}, [](const auto&) { return std::optional<std::string>("mine"); }),
              "mine");
  });
  first_client.request_stop();
}

TEST(WhatIfBoard, AFailureIsNotWaitedFor) {
  WhatIfBoard board;
  EXPECT_THROW(board.get("key", {},
                         [](const WhatIfBoard::Report&) -> std::optional<std::string> {
                           throw std::bad_alloc();
                         }),
               std::bad_alloc);
  EXPECT_FALSE(board.progressOf("key").is_running);
  EXPECT_EQ(
      board.get("key", {},
                [](const WhatIfBoard::Report&) { return std::optional<std::string>("answer"); }),
      "answer");
}

TEST(WhatIfBoard, KeepsAFewAnswersOfManyQuestions) {
  WhatIfBoard board;
  auto compute = [](const WhatIfBoard::Report&) { return std::optional<std::string>("answer"); };
  for (int i = 0; i < 1000; ++i) board.get(std::to_string(i), {}, compute);
  int asked = 0;
  auto counted = [&](const WhatIfBoard::Report&) {
    ++asked;
    return std::optional<std::string>("answer");
  };
  board.get("3", {}, counted);
  EXPECT_EQ(asked, 1);  // dropped
  board.get("999", {}, counted);
  EXPECT_EQ(asked, 1);  // kept
}

TEST(WhatIfBoard, WhoWaitsCanLeave) {
  WhatIfBoard board;
  std::stop_source client;
  auto compute = [&](const WhatIfBoard::Report&) {
    std::jthread other([&] {
      client.request_stop();
      EXPECT_FALSE(board
                       .get("a", client.get_token(),
                            [](const auto&) { return std::optional<std::string>("never"); })
                       .has_value());
    });
    other.join();
    return std::optional<std::string>("answer");
  };
  EXPECT_EQ(board.get("a", {}, compute), "answer");
}

}  // namespace
}  // namespace tidegauge::server
