#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/format.h"

namespace tidegauge::base {
namespace {

// The page reads the same table: web/src/ui/units-table.test.ts.
TEST(HumanBytes, AreThoseOfTheTableThatThePageReadsToo) {
  const char* source = std::getenv("TIDEGAUGE_SOURCE_DIR");
  if (source == nullptr) GTEST_SKIP() << "TIDEGAUGE_SOURCE_DIR is not set; ctest sets it";
  std::ifstream table(std::string(source) + "/tests/data/human_bytes.tsv");
  size_t rows = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.starts_with('#')) continue;
    size_t tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos) << line;
    EXPECT_EQ(humanBytes(std::stoull(line.substr(0, tab))), line.substr(tab + 1)) << line;
    ++rows;
  }
  EXPECT_GT(rows, 20U);
}

TEST(HumanBytes, HalvesAreRoundedUpInAGivenUnitToo) {
  EXPECT_EQ(humanBytes(5120, ByteUnit::kMiB), "0.0 MiB");
  EXPECT_EQ(humanBytes(1536, ByteUnit::kB), "1,536 B");
  EXPECT_EQ(humanBytes((uint64_t{1} << 30) / 8, ByteUnit::kGiB), "0.13 GiB");
  EXPECT_EQ(humanBytes(UINT64_MAX, ByteUnit::kB), "18,446,744,073,709,551,615 B");
}

}  // namespace
}  // namespace tidegauge::base
