#include "base/file_bytes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/temp_folder.h"

namespace tidegauge::base {
namespace {

class FileBytesTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& content) {
    std::string path = folder_.file(name);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  static std::string text(const FileBytes& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
  }

  testing::TempFolder folder_;
};

TEST_F(FileBytesTest, MapsAFile) {
  Result<FileBytes> file = FileBytes::open(write("a", "hello"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(text(file.value()), "hello");
}

TEST_F(FileBytesTest, MovingKeepsTheBytes) {
  Result<FileBytes> a = FileBytes::open(write("a", "first"));
  Result<FileBytes> b = FileBytes::open(write("b", "second"));
  ASSERT_TRUE(a.ok() && b.ok());
  FileBytes moved(std::move(a.value()));
  EXPECT_EQ(text(moved), "first");
  moved = std::move(b.value());
  EXPECT_EQ(text(moved), "second");
}

TEST_F(FileBytesTest, AnEmptyFileHasNoBytes) {
  Result<FileBytes> file = FileBytes::open(write("empty", ""));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file.value().bytes().empty());
}

TEST_F(FileBytesTest, ReadsAPipeLongerThanItsFirstBuffer) {
  std::string path = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::string content(300'000, 'x');
  content += "end";
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << content; });
  Result<FileBytes> file = FileBytes::open(path);
  writer.join();
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(text(file.value()), content);
}

TEST_F(FileBytesTest, AnUnwantedEndlessStreamIsReadNoFurtherThanItsStart) {
  size_t seen = 0;
  StreamLimits limits;
  limits.wanted = [&](std::span<const uint8_t> start) {
    seen = start.size();
    return false;
  };
  Result<FileBytes> file = FileBytes::open("/dev/zero", limits);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(seen, StreamLimits::kStartBytes);
  EXPECT_EQ(file.value().bytes().size(), StreamLimits::kStartBytes);
}

TEST_F(FileBytesTest, AStreamWithoutAnEndEndsInAnError) {
  StreamLimits limits;
  limits.wanted = [](std::span<const uint8_t>) { return true; };
  limits.most_bytes = 3 << 20;
  Result<FileBytes> file = FileBytes::open("/dev/zero", limits);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().kind, ErrorKind::kLimit);
  EXPECT_NE(file.error().what.find("3.0 MiB"), std::string::npos) << file.error().what;
  EXPECT_EQ(file.error().byte_offset, uint64_t{3} << 20);
}

TEST_F(FileBytesTest, SaysWhatIsWrong) {
  Result<FileBytes> missing = FileBytes::open(folder_.file("missing"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().what, "no such file");
  EXPECT_EQ(missing.error().kind, ErrorKind::kUnreadable);
  Result<FileBytes> folder = FileBytes::open(folder_.path());
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().what, "this is a folder");
  EXPECT_FALSE(folder.error().hint.empty());
}

TEST_F(FileBytesTest, SaysThatItMayNotRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything; run as another user";
  std::string path = write("secret", "x");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  Result<FileBytes> file = FileBytes::open(path);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().what, "no permission to read this file");
}

}  // namespace
}  // namespace tidegauge::base
