#include "wss/words/rolling_text.h"

#include <gtest/gtest.h>

#include "base/text_layout.h"
#include "support/bytes.h"
#include "wss/words/row_json.h"

namespace tidegauge::wss {
namespace {

Rolling rolling() {
  return {.within = {{1, 20 * kMiB}, {2, 24 * kMiB}, {4, 24 * kMiB}, {8, 30 * kMiB}},
          .never = 70 * kMiB,
          .first = kMiB,
          .again = {16 * kMiB, 0, 2 * kMiB, 0, 0, 0, 0, 0, 4 * kMiB}};
}

TEST(RollingText, HasARowThatFitsItsHead) {
  Row row;
  row.sums.rss = 100 * kMiB;
  row.cost = {2'500'000, 1'250'000};
  std::string head = rollingHeader(rolling(), 0.1);
  EXPECT_EQ(head,
            "Time(s)   RSS(MB)   0.1 s   0.2 s   0.4 s   0.8 s Never(MB) CPU(ms) Stall(ms)\n");
  EXPECT_EQ(rollingText(row, rolling(), 1.5),
            "   1.50    100.00   20.00   24.00   24.00   30.00     70.00     2.5       1.2\n");
  EXPECT_LE(head.size(), 80U);
  Rolling large = rolling();
  large.within[3].bytes = 123456 * kMiB;
  EXPECT_EQ(rollingText(row, large, 1.5).size(), head.size());
}

TEST(Reuse, IsTheMeanOfAWindow) {
  Reuse reuse;
  reuse.add(rolling());
  EXPECT_EQ(reuse.text(0.1, 80), "");  // of one window nothing was touched again
  reuse.add(rolling());
  reuse.add({.within = {}, .never = 0, .first = kMiB, .again = {}});
  std::string text = reuse.text(0.1, 80);
  EXPECT_NE(text.find("  0.1 s                        8.00  ██"), std::string::npos) << text;
  EXPECT_NE(text.find("  0.3 to 0.4 s                 1.00  ██"), std::string::npos) << text;
  EXPECT_NE(text.find("  more than 12.8 s             2.00  ██"), std::string::npos) << text;
  EXPECT_NE(text.find("  for the first time           1.00"), std::string::npos) << text;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    EXPECT_LE(base::displayWidth(text.substr(at, end - at)), 80U);
    at = end + 1;
  }
}

TEST(RollingJson, HasEachBin) {
  nlohmann::json json = rollingJson(rolling(), 0.1);
  EXPECT_EQ(json["within"][2]["windows"], 4);
  EXPECT_EQ(json["within"][2]["bytes"], 24 * kMiB);
  EXPECT_EQ(json["again"][2]["after_windows_least"], 3);
  EXPECT_EQ(json["again"][2]["after_windows_most"], 4);
  EXPECT_EQ(json["again"][8]["after_windows_least"], 129);
  EXPECT_TRUE(json["again"][8]["after_windows_most"].is_null());
  EXPECT_EQ(json["never_bytes"], 70 * kMiB);
}

}  // namespace
}  // namespace tidegauge::wss
