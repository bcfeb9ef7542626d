#include "query/scan/like.h"

#include <gtest/gtest.h>

#include "analysis/trace/analysed_trace.h"
#include "support/trace_builder.h"

namespace tidegauge::query {
namespace {

TEST(Like, StacksMatchAsTheirTextDoes) {
  testing::TraceBuilder b;
  b.stack({"foo@a.py:1", "bar@b.py:22"}).alloc(0x1000, 512);
  b.stack({"bar@b.py:22"}).alloc(0x2000, 512);
  b.stack({"x_y@Straße.py:7", "foo@a.py:1"}).alloc(0x3000, 512);
  b.stack({"LongName@c.cpp:100"}).alloc(0x4000, 512);
  analysis::AnalysedTrace trace(b.build());
  for (const std::string pattern :
       {"%foo%", "%FOO%", "a.py:1 foo", "a.py:1 foo%", "%bar", "%foo_b.py%", "%foo\nb%", "%o%b%2%",
        "%x_y%", "%_%", "%", "_", "%Stra_e%", "%STRAßE%", "%1%0%0%", "%foo%foo%", "nothing",
        "%%"}) {
    std::vector<bool> matches = stacksLike(trace, pattern);
    for (uint32_t s = 0; s < matches.size(); ++s) {
      EXPECT_EQ(matches[s], isLike(trace.labels.text(model::StackId(s)), pattern))
          << pattern << " on stack " << s;
    }
  }
}

TEST(Like, ManyWildcardsAreLeftToSqlite) {
  EXPECT_TRUE(isQuickPattern("%a%b%c%"));
  EXPECT_FALSE(isQuickPattern("%a%b%c%d%"));
  EXPECT_FALSE(isQuickPattern(""));
  EXPECT_FALSE(isQuickPattern(std::string(501, 'a')));
}

}  // namespace
}  // namespace tidegauge::query
