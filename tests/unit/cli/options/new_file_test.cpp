#include "cli/options/new_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/options/output.h"
#include "support/temp_folder.h"

namespace tidegauge::cli {
namespace {

namespace fs = std::filesystem;

class NewFileTest : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.file(name); }
  static std::string textOf(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_.path()), {}));
  }

  tidegauge::testing::TempFolder folder_;
};

TEST_F(NewFileTest, AppearsWholeAndAlone) {
  NewFile file(at("out"), false);
  EXPECT_EQ(file.refuse("in"), 0);
  EXPECT_EQ(file.write("text"), 0);
  EXPECT_EQ(textOf(at("out")), "text");
  EXPECT_EQ(files(), 1u) << "no part is left";
}

TEST_F(NewFileTest, OverwritesAFileOnlyOnRequest) {
  std::ofstream(at("out")) << "old";
  EXPECT_EQ(NewFile(at("out"), false).refuse("in"), 2);
  EXPECT_EQ(NewFile(at("out"), false).write("new"), 2) << "it came while the work was done";
  EXPECT_EQ(textOf(at("out")), "old");
  EXPECT_EQ(NewFile(at("out"), true).refuse("in"), 0);
  EXPECT_EQ(NewFile(at("out"), true).write("new"), 0);
  EXPECT_EQ(textOf(at("out")), "new");
  EXPECT_EQ(files(), 1u);
}

TEST_F(NewFileTest, HintsNameTheOptionThatNamedIt) {
  std::ofstream(at("out")) << "old";
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(NewFile(at("out"), false, "--plot").refuse("in"), 2);
  EXPECT_EQ(NewFile(at("out"), true, "--plot").refuse(at("out")), 2);
  std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("Choose another file with --plot, or overwrite it with --force."),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("Choose another file with --plot.\n"), std::string::npos) << said;
}

TEST_F(NewFileTest, ALinkStaysALink) {
  std::ofstream(at("real")) << "old";
  fs::create_symlink("real", at("link"));
  EXPECT_EQ(NewFile(at("link"), false).refuse("in"), 2);
  EXPECT_EQ(NewFile(at("link"), true).write("new"), 0);
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(textOf(at("real")), "new");
}

TEST_F(NewFileTest, FoldersAndMissingFoldersAreErrors) {
  EXPECT_EQ(NewFile(folder_.path(), true).refuse("in"), 2);
  for (const char* name : {"absent/out", "file/out"}) {
    std::ofstream(at("file")) << "no folder";
    EXPECT_EQ(NewFile(at(name), true).refuse("in"), kNotWritten) << "before the work is done";
    EXPECT_EQ(NewFile(at(name), true).write("text"), kNotWritten);
  }
  EXPECT_EQ(files(), 1u);
}

TEST_F(NewFileTest, AnUnwritableFolderIsReportedBeforeTheWork) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere; run it as another user";
  fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(NewFile(at("out"), false).refuse("in"), kNotWritten);
  fs::permissions(folder_.path(), fs::perms::owner_all);
}

TEST_F(NewFileTest, NeverTakesThePlaceOfTheInput) {
  std::ofstream(at("recording")) << "input";
  fs::create_symlink("recording", at("link"));
  fs::create_hard_link(at("recording"), at("same"));
  for (const char* name : {"recording", "link", "same"}) {
    for (bool overwrite : {false, true}) {
      EXPECT_EQ(NewFile(at(name), overwrite).refuse(at("recording")), 2) << name;
    }
    EXPECT_EQ(NewFile(at("recording"), true).refuse(at(name)), 2) << name;
  }
  std::ofstream(at("other")) << "old";
  EXPECT_EQ(NewFile(at("other"), true).refuse(at("recording")), 0);
  EXPECT_EQ(NewFile(at("new"), true).refuse(at("recording")), 0);
}

TEST_F(NewFileTest, AFullDiskIsAnErrorAndADeviceStaysADevice) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full; Linux has";
  NewFile file("/dev/full", true);
  EXPECT_EQ(file.refuse("in"), 0);
  EXPECT_EQ(file.write("text"), kNotWritten);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

}  // namespace
}  // namespace tidegauge::cli
