#include "cli/options/terminal.h"

#include <gtest/gtest.h>

namespace tidegauge::cli {
namespace {

TEST(PageColumns, AreTheTerminals) {
  EXPECT_EQ(pageColumns(160, nullptr), 160U);
  EXPECT_EQ(pageColumns(80, "120"), 80U) << "COLUMNS of another time";
  EXPECT_EQ(pageColumns(7, nullptr), 20U);
  EXPECT_EQ(pageColumns(9999, nullptr), 400U);
}

TEST(PageColumns, OfAPipeAreAsColumnsSays) {
  EXPECT_EQ(pageColumns(0, "40"), 40U);
  EXPECT_EQ(pageColumns(0, "400"), 400U);
  for (const char* other : {"", "39", "401", "-80", "80x", " 80", "1e2", "99999999999999999999"}) {
    EXPECT_EQ(pageColumns(0, other), 100U) << other;
  }
  EXPECT_EQ(pageColumns(0, nullptr), 100U);
}

}  // namespace
}  // namespace tidegauge::cli
