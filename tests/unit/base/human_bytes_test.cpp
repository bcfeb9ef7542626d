#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/sizes.h"

namespace tidegauge::base {
namespace {

// The page's own test, web/src/text/units.test.ts, reads the same table.
TEST(HumanBytes, AreThoseThatThePageShows) {
  const char* source = std::getenv("TIDEGAUGE_SOURCE_DIR");
  if (source == nullptr) GTEST_SKIP() << "TIDEGAUGE_SOURCE_DIR is not set; ctest sets it";
  std::ifstream file(std::string(source) + "/tests/fixtures/sizes.json");
  nlohmann::json rows = nlohmann::json::parse(file, nullptr, false);
  ASSERT_TRUE(rows.is_array());
  EXPECT_GT(rows.size(), 40U);
  for (const nlohmann::json& row : rows) {
    EXPECT_EQ(humanBytes(row["bytes"].get<uint64_t>()), row["text"].get<std::string>()) << row;
  }
}

TEST(HumanBytes, HalvesAreRoundedUpInAGivenUnitToo) {
  EXPECT_EQ(humanBytes(5120, ByteUnit::kMiB), "0.0 MiB");
  EXPECT_EQ(humanBytes(1536, ByteUnit::kB), "1,536 B");
  EXPECT_EQ(humanBytes((uint64_t{1} << 30) / 8, ByteUnit::kGiB), "0.13 GiB");
  EXPECT_EQ(humanBytes(UINT64_MAX, ByteUnit::kB), "18,446,744,073,709,551,615 B");
}

TEST(ParseSize, TakesWhatPeopleWrite) {
  EXPECT_EQ(parseSize("0"), 0U);
  EXPECT_EQ(parseSize("4096"), 4096U);
  EXPECT_EQ(parseSize("512MiB"), 512U << 20);
  EXPECT_EQ(parseSize("1.5g"), uint64_t{3} << 29);
  EXPECT_EQ(parseSize("2kb"), 2048U);
  EXPECT_EQ(parseSize("1125899906842624"), kMaxSizeBytes);
  EXPECT_EQ(parseSize("1PiB"), kMaxSizeBytes);
}

TEST(ParseSize, CutsNothing) {
  for (const char* text : {"",
                           "-1",
                           "+1",
                           " 1",
                           "1 ",
                           "1 MiB",
                           "1e3",
                           "1e999",
                           "nan",
                           "inf",
                           "0x10",
                           "1,000",
                           "1.5",
                           "1.5b",
                           "MiB",
                           "1MiBB",
                           "1..5k",
                           "1EiB",
                           "1125899906842625",
                           "1025TiB",
                           "99999999999999999999",
                           "18446744073709551616"}) {
    EXPECT_EQ(parseSize(text), std::nullopt) << text;
  }
}

TEST(SizeOrZero, HasNoUnitForNothing) {
  EXPECT_EQ(sizeOrZero(0), "0");
  EXPECT_EQ(sizeOrZero(512), "512 B");
}

}  // namespace
}  // namespace tidegauge::base
