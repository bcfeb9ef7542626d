#include "wss/pages/repeats.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace tidegauge::wss {
namespace {

constexpr uint64_t kMib = uint64_t{1} << 20;

// A mapping of `mib` at 0x7000_0000_0000 + its number of GiB.
std::string line(int number, uint64_t mib, uint64_t offset_mib, const char* file,
                 const char* rights = "rw-s") {
  uint64_t begin = 0x700000000000 + (static_cast<uint64_t>(number) << 30);
  return fmt::format("{:x}-{:x} {} {:08x} {}\n", begin, begin + mib * kMib, rights,
                     offset_mib * kMib, file);
}

uint64_t repeatedMib(const std::string& maps) {
  MappingsParser parser({}, 8);
  parser.add(maps);
  return repeatedBytes(parser.take()) / kMib;
}

TEST(RepeatedBytes, AreThoseOfTheSamePlaceInTheSameFile) {
  const char *heap = "00:01 9 /memfd:heap", *other = "00:01 10 /memfd:heap";
  EXPECT_EQ(repeatedMib(line(0, 64, 0, heap)), 0U);
  EXPECT_EQ(repeatedMib(line(0, 64, 0, heap) + line(1, 64, 0, heap)), 64U);
  EXPECT_EQ(repeatedMib(line(0, 64, 0, heap) + line(1, 64, 0, heap) + line(2, 64, 0, heap)), 128U);
  EXPECT_EQ(repeatedMib(line(0, 64, 0, heap) + line(1, 64, 64, heap)), 0U);
  EXPECT_EQ(repeatedMib(line(0, 64, 0, heap) + line(1, 64, 48, heap)), 16U);
  EXPECT_EQ(repeatedMib(line(0, 64, 0, heap) + line(1, 8, 16, heap) + line(2, 8, 48, heap)), 16U);
  EXPECT_EQ(repeatedMib(line(0, 64, 0, heap) + line(1, 64, 0, other)), 0U);
  EXPECT_EQ(repeatedMib(line(0, 64, 0, heap) + line(1, 64, 0, "00:02 9 /memfd:heap")), 0U);
}

TEST(RepeatedBytes, AreNoneOfDevicesOfReservedPagesAndOfNewMemory) {
  for (const char* file : {"00:06 9 /dev/nvidiactl", "00:0f 9 /anon_hugepage (deleted)", "00:00 0"})
    EXPECT_EQ(repeatedMib(line(0, 64, 0, file) + line(1, 64, 0, file)), 0U) << file;
  const char* zero = "00:05 6 /dev/zero";
  EXPECT_EQ(repeatedMib(line(0, 64, 0, zero, "rw-p") + line(1, 64, 0, zero, "rw-p")), 0U);
  EXPECT_EQ(repeatedMib(line(0, 64, 0, zero) + line(1, 64, 0, zero)), 64U);
}

// Input is a file of any bytes (`wss FILE`), or of a kernel: places may wrap around.
TEST(RepeatedBytes, PlacesAtTheEndOfNumbers) {
  std::string last = "7f00000000-7f10000000 rw-s fffffffffffff000 00:01 9 /memfd:x\n";
  EXPECT_EQ(repeatedMib(last + last), 0U);
}

}  // namespace
}  // namespace tidegauge::wss
