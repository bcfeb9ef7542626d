// kindOf: by content, never by the name.
#include "cli/file_kind.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string_view>

#include "support/temp_folder.h"

namespace tidegauge::cli {
namespace {

FileKind kindWith(std::string_view name, std::string_view content) {
  testing::TempFolder folder;
  std::string path = folder.file(std::string(name));
  std::ofstream(path) << content;
  return kindOf(path);
}

TEST(FileKind, IsThatOfTheContent) {
  std::string_view sqlite("SQLite format 3\0 and more", 25);
  EXPECT_EQ(kindWith("oom.pickle", sqlite), FileKind::kRecording);
  EXPECT_EQ(kindWith("run.sqlite", R"({"tidegauge_wss": 1})"), FileKind::kWorkingSet);
  EXPECT_EQ(kindWith("run.sqlite", "\x80\x04}."), FileKind::kSnapshot);
  EXPECT_EQ(kindWith("run.sqlite", ""), FileKind::kSnapshot);
}

TEST(FileKind, LeavesPipesAndMissingFilesToTheReaderOfSnapshots) {
  testing::TempFolder folder;
  std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(kindOf(pipe), FileKind::kSnapshot);  // at once: opening it would wait for a writer
  EXPECT_EQ(kindOf("-"), FileKind::kSnapshot);
  EXPECT_EQ(kindOf(folder.file("none")), FileKind::kSnapshot);
  EXPECT_EQ(kindOf(folder.path()), FileKind::kSnapshot);
}

}  // namespace
}  // namespace tidegauge::cli
