#include "cli/commands/picture_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_folder.h"

namespace tidegauge::cli {
namespace {

namespace fs = std::filesystem;

class PictureFileTest : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.file(name); }
  bool isEmpty() const {
    return fs::directory_iterator(folder_.path()) == fs::directory_iterator();
  }

  tidegauge::testing::TempFolder folder_;
};

// Cairo has no surface of more than 32,767 pixels a side: whatever is drawn on it is lost.
TEST_F(PictureFileTest, WhatCairoCannotDrawIsNotWritten) {
  if (!exporting::hasPng()) GTEST_SKIP() << "this build has no cairo: libcairo2-dev was missing";
  for (uint32_t width : {32'767U, 32'768U}) {
    auto canvas = exporting::pngCanvas(width, 1);
    canvas->box({0, 0, 10, 1}, {});
    canvas->text({0, 0}, "text", {});
    bool drawn = width == 32'767;
    EXPECT_EQ(writePicture(*canvas, NewFile(at("out.png"), false)), drawn ? 0 : 4);
    EXPECT_EQ(isEmpty(), !drawn) << "not even a part of it";
    fs::remove(at("out.png"));
  }
}

TEST_F(PictureFileTest, AnOldPictureSurvivesOneThatCannotBeDrawn) {
  if (!exporting::hasPng()) GTEST_SKIP() << "this build has no cairo: libcairo2-dev was missing";
  std::ofstream(at("out.png")) << "old";
  auto canvas = exporting::pngCanvas(100'000, 100'000);
  EXPECT_EQ(writePicture(*canvas, NewFile(at("out.png"), true)), 4);
  std::string text;
  std::getline(std::ifstream(at("out.png")), text);
  EXPECT_EQ(text, "old");
}

// A folder that takes no file, and a disk that is full.
TEST_F(PictureFileTest, WhatCannotBeWrittenIsSaid) {
  if (!exporting::hasPng()) GTEST_SKIP() << "this build has no cairo: libcairo2-dev was missing";
  auto canvas = exporting::pngCanvas(20, 20);
  EXPECT_NE(writePicture(*canvas, NewFile(at("no/such/folder/out.png"), false)), 0);
  EXPECT_TRUE(isEmpty());
  if (!fs::exists("/dev/full")) return;
  auto other = exporting::pngCanvas(20, 20);
  EXPECT_NE(writePicture(*other, NewFile("/dev/full", true)), 0);
}

}  // namespace
}  // namespace tidegauge::cli
