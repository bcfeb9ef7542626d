// Names of code made at run time: the text of a map, and whose file is believed.
#include "record/code/perf_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tidegauge::record {
namespace {

TEST(PerfMap, NamesPythonByFunctionAndFile) {
  PerfMap map;
  map.add(
      "7f00 b py::Block.forward:/home/me/train.py\n7f10 b py::<module>:<string>\n7f20 40 foo\n");
  ASSERT_NE(map.find(0x7f00), nullptr);
  EXPECT_EQ(*map.find(0x7f0a), (CodeName{"Block.forward", "/home/me/train.py"}));
  EXPECT_EQ(map.find(0x7f0b), nullptr);
  EXPECT_EQ(*map.find(0x7f10), (CodeName{"<module>", "<string>"}));
  EXPECT_EQ(*map.find(0x7f5f), (CodeName{"foo", ""}));
  EXPECT_EQ(map.find(0x7eff), nullptr);
  EXPECT_EQ(map.find(0x7f60), nullptr);
}

TEST(PerfMap, TextMayComeInAnyPieces) {
  std::string text = "7f00 b py::a:/x.py\n7f10 b py::b:/y.py\n";
  for (size_t size = 1; size < text.size(); ++size) {
    PerfMap map;
    for (size_t at = 0; at < text.size(); at += size)
      map.add(std::string_view(text).substr(at, size));
    ASSERT_EQ(map.size(), 2U) << size;
    EXPECT_EQ(map.find(0x7f10)->file, "/y.py");
  }
}

TEST(PerfMap, DamagedLinesSayNothing) {
  PerfMap map;
  map.add(
      "\n\n7f00\n7f00 b\n7f00 b \nxyz 1 a\n7f00 zz a\n7f00 0 a\n-1 b a\nffffffffffffffff ff a\n");
  map.add("123456789abcdef01 1 a\n");
  EXPECT_EQ(map.size(), 0U);
  map.add("7f00 b " + std::string(10'000, 'x') + "\n7f10 b kept\n");
  EXPECT_EQ(map.size(), 1U);
  EXPECT_EQ(map.find(0x7f10)->function, "kept");
  map.add("7f10 b newer\n");
  EXPECT_EQ(map.find(0x7f10)->function, "newer");
}

class PerfMapsFile : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  uint32_t pid_ = static_cast<uint32_t>(getpid());
  std::string path_ = fmt::format("/tmp/perf-{}.map", getpid());
};

TEST_F(PerfMapsFile, IsReadOnAsItGrowsAndAForkHasItsParents) {
  PerfMaps maps;
  EXPECT_EQ(maps.find(pid_, 0x7f00), nullptr);
  std::ofstream(path_) << "7f00 b py::a:/x.py\n7f10 b py::b:";
  ASSERT_NE(maps.find(pid_, 0x7f00), nullptr);
  EXPECT_EQ(maps.find(pid_, 0x7f10), nullptr);
  std::ofstream(path_, std::ios::app) << "/y.py\n";
  ASSERT_NE(maps.find(pid_, 0x7f10), nullptr);
  EXPECT_EQ(maps.find(pid_, 0x7f10)->file, "/y.py");
  maps.inherit(999'999'999, pid_);
  ASSERT_NE(maps.find(999'999'999, 0x7f00), nullptr);
  maps.forget(pid_);
  EXPECT_EQ(maps.find(999'999'999, 0x7f00), nullptr);
}

TEST_F(PerfMapsFile, OfAnotherUserOrKindIsNotBelieved) {
  std::ofstream(path_) << "7f00 b py::a:/x.py\n";
  if (getuid() == 0) {
    ASSERT_EQ(chown(path_.c_str(), 12345, 12345), 0);
    EXPECT_EQ(PerfMaps().find(pid_, 0x7f00), nullptr);
    ASSERT_EQ(chown(path_.c_str(), 0, 0), 0);
  }
  EXPECT_NE(PerfMaps().find(pid_, 0x7f00), nullptr);
  std::string other = path_ + ".other";
  std::filesystem::rename(path_, other);
  std::filesystem::create_symlink(other, path_);
  EXPECT_EQ(PerfMaps().find(pid_, 0x7f00), nullptr);
  std::filesystem::remove(path_);
  std::filesystem::remove(other);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);  // would wait for ever
  EXPECT_EQ(PerfMaps().find(pid_, 0x7f00), nullptr);
}

}  // namespace
}  // namespace tidegauge::record
