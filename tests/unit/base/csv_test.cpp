#include "base/csv.h"

#include <gtest/gtest.h>

namespace tidegauge::base {
namespace {

std::string fieldOf(std::string_view text) {
  std::string line = "x,";
  appendCsvField(line, text);
  return line;
}

TEST(Csv, QuotesOnlyWhatAReaderWouldCut) {
  EXPECT_EQ(fieldOf("train step"), "x,train step");
  EXPECT_EQ(fieldOf("a,b"), "x,\"a,b\"");
  EXPECT_EQ(fieldOf("say \"hi\""), "x,\"say \"\"hi\"\"\"");
  EXPECT_EQ(fieldOf("two\nlines"), "x,\"two\nlines\"");
  EXPECT_EQ(fieldOf("a\rb"), "x,\"a\rb\"");
  EXPECT_EQ(fieldOf(""), "x,");
}

TEST(Csv, ALineEndsWithALineFeedAlone) { EXPECT_EQ(kCsvLineEnd, '\n'); }

}  // namespace
}  // namespace tidegauge::base
