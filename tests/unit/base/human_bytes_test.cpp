#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/format.h"

namespace tidegauge::base {
namespace {

// The page's own test, web/src/ui/units.test.ts, reads the same table.
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

}  // namespace
}  // namespace tidegauge::base
