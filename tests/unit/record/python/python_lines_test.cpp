#include "record/python/python_lines.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace tidegauge::record {
namespace {

std::vector<uint8_t> bytesOf(std::string_view hex) {
  auto digit = [](char c) { return static_cast<uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); };
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(digit(hex[i]) << 4 | digit(hex[i + 1])));
  return bytes;
}

std::vector<uint32_t> linesOf(uint32_t minor, std::string_view table, uint32_t instructions) {
  std::vector<uint32_t> lines;
  for (uint32_t i = 0; i < instructions; ++i)
    lines.push_back(pythonLine(minor, bytesOf(table), 1, i));
  return lines;
}

using Lines = std::vector<uint32_t>;

// Tables that each version made of one function, and the lines by its own dis and co_lines().
TEST(PythonLines, AreThoseOfEachVersion) {
  EXPECT_EQ(linesOf(9, "0001040104010601020102ff02ff06030201020102ff040302fd0203", 24),
            (Lines{2, 2, 3, 3, 4, 4, 4, 5, 6, 5, 4, 4, 4, 7, 8, 9, 8, 8, 11, 8, 11, 11, 11, 11}));
  EXPECT_EQ(linesOf(10, "0401040106010201020102ff06ff02030201020104ff0803", 22),
            (Lines{2, 2, 3, 3, 4, 4, 4, 5, 6, 5, 4, 4, 4, 7, 8, 9, 8, 8, 11, 11, 11, 11}));
  EXPECT_EQ(
      linesOf(11,
              "8000d808098041d80708f000030514f002020d14f000020d14dd161bd81011f103011713f4000117"
              "13f003020d14f100020d14f400020d148801f00604050edd0f10d80c0df10301100ff40001100ff0"
              "06000d0e8841f888418805880588058805",
              53),
      (Lines{1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5, 6, 5, 5, 5, 5, 5,  5,  5, 4,  4,  4,  4,  4, 4,
             4, 4, 4, 7, 8, 8, 8, 8, 8, 8, 9, 8, 8, 8, 8, 8, 8, 8, 11, 11, 0, 11, 11, 11, 11, 11}));
  EXPECT_EQ(linesOf(13,
                    "8000d808098041de0708e4161bd81011f403011713f303020d14f1020117139011f303000e0ff1"
                    "02011713f00300090af000020d14f00604050edc0f10d80c0df30301100ff106000d0ef9f20f02"
                    "0d14f8f10e000d0efa",
                    61),
            (Lines{1, 2, 2, 3, 3, 3,  3,  3, 3, 3, 5, 5, 5, 5,  5,  6, 5, 5, 5, 5, 5,
                   4, 4, 4, 4, 5, 5,  5,  4, 4, 4, 4, 5, 5, 4,  4,  7, 8, 8, 8, 8, 8,
                   9, 8, 8, 8, 8, 11, 11, 0, 0, 4, 4, 4, 0, 11, 11, 0, 0, 0, 0}));
}

TEST(PythonLines, BeforeItsFirstInstructionAFrameIsInItsFirstLine) {
  EXPECT_EQ(pythonLine(9, {}, 7, std::nullopt), 7);
  EXPECT_EQ(pythonLine(12, {}, 7, std::nullopt), 7);
}

TEST(PythonLines, AnyBytesAreRead) {
  for (uint32_t minor : {9U, 10U, 11U, 13U})
    for (uint32_t first = 0; first < 256; ++first) {
      std::vector<uint8_t> table{static_cast<uint8_t>(first), 0xff, 0x7f, 0xff, 0x80};
      for (size_t size = 0; size <= table.size(); ++size)
        (void)pythonLine(minor, {table.data(), size}, INT32_MAX, 0x3fffffff);
    }
  EXPECT_EQ(pythonLine(9, {}, -5, 0), 0);
  EXPECT_EQ(pythonLine(11, {}, 5, 0), 0);  // the table was too long to be sent
}

}  // namespace
}  // namespace tidegauge::record
