#include "cli/frag_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tidegauge::cli {
namespace {

class WatchedFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ =
        std::filesystem::temp_directory_path() / ("tidegauge_watch_" + std::to_string(::getpid()));
    write("one");
  }
  void TearDown() override { std::filesystem::remove(path_); }
  // A longer text each time, so that a change is seen however coarse the file system's clock is.
  void write(const std::string& text) { std::ofstream(path_) << text; }
  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path path_;
};

TEST_F(WatchedFile, IsReadAtEveryChangeAndNotBetween) {
  std::vector<std::string> seen;
  int exit_code = watchFile({.path = path_.string(), .count = 3, .interval_s = 0.05}, [&] {
    seen.push_back(text());
    if (seen.size() < 3) write(seen.back() + " more");
    return seen.size() == 3 ? 1 : 0;
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"one", "one more", "one more more"}));
  EXPECT_EQ(exit_code, 1);  // of the last
}

TEST_F(WatchedFile, WhatCannotBeReadIsNotCounted) {
  int calls = 0;
  int exit_code = watchFile({.path = path_.string(), .count = 1, .interval_s = 0.05}, [&] {
    write(text() + " more");
    return ++calls < 3 ? 3 : 0;
  });
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(exit_code, 0);
}

}  // namespace
}  // namespace tidegauge::cli
