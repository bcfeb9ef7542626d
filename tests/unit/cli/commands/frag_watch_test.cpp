#include "cli/commands/frag_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "readers/recording/open_recording.h"
#include "support/call_stream.h"
#include "support/recording_file.h"

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
    return FileRead{true, seen.size() == 3 ? 1 : 0};
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"one", "one more", "one more more"}));
  EXPECT_EQ(exit_code, 1);  // of the last
}

TEST_F(WatchedFile, WhatCannotBeReadIsNotCounted) {
  int calls = 0;
  int exit_code = watchFile({.path = path_.string(), .count = 1, .interval_s = 0.05}, [&] {
    write(text() + " more");
    bool is_readable = ++calls == 3;
    return FileRead{is_readable, is_readable ? 0 : 3};
  });
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(exit_code, 0);
}

TEST_F(WatchedFile, WhatIsDamagedIsCounted) {
  int calls = 0;
  int exit_code = watchFile({.path = path_.string(), .count = 1, .interval_s = 0.05}, [&] {
    return ++calls, FileRead{true, 3};
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(exit_code, 3);
}

// It is written all the time, and to its journal first: so it is never at rest, and the file itself
// does not change.
TEST(WatchedRecording, IsReadWhileItGrowsAndUntilItsWriterEnds) {
  testing::RecordingFile file;
  uint64_t address = 0;
  auto grow = [&] {
    testing::CallStream calls;
    calls.allocate(model::MemoryKind::kDevice, address += 0x1000, 512).device(0);
    file.write(calls.all());
  };
  grow();
  std::vector<uint64_t> seen;
  auto read = [&]() -> FileRead {
    auto traces = readers::recording::openRecording(file.path(), {});
    if (!traces.ok()) return {false, 3};
    seen.push_back(traces.value()[0].allocations.size());
    if (seen.size() < 3) grow();
    if (seen.size() == 3) file.finish();
    return {true, 0};
  };
  EXPECT_EQ(watchFile({.path = file.path(), .interval_s = 0.05}, read), 0);
  ASSERT_GE(seen.size(), 4U);  // the end is a change, too
  EXPECT_EQ((std::vector<uint64_t>(seen.begin(), seen.begin() + 4)),
            (std::vector<uint64_t>{1, 2, 3, 3}));
}

}  // namespace
}  // namespace tidegauge::cli
