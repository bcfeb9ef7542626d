#include "wss/words/row_text.h"

#include <gtest/gtest.h>

#include "base/text_layout.h"
#include "support/bytes.h"

namespace tidegauge::wss {
namespace {

Row row() {
  Row row;
  row.slept_ns = 100'000'000, row.taken_ns = 116'000'000, row.window.mean_ns = 107'000'000;
  row.sums.rss = 403 * kMiB, row.sums.referenced = 28 * kMiB;
  row.cost = {8'900'000, 6'100'000};
  return row;
}

TEST(RowText, WithMoreTimesFitsATerminal) {
  TextOptions options{.more_times = true, .knows_sharing = false, .columns = 80};
  EXPECT_EQ(rowHeader(options),
            "Slp(s)  Dur(s)  Est(s)  RSS(MB) PSS(MB) Ref(MB)  Ref% Shr(MB) CPU(ms) Stall(ms)\n");
  EXPECT_EQ(rowText(row(), options),
            "0.100   0.116   0.107    403.00       -   28.00   6.9       -     8.9       6.1\n");
  Row large = row();
  large.sums.rss = 123456 * kMiB;
  EXPECT_EQ(rowText(large, options).size(), rowHeader(options).size());
  options.columns = 100;
  EXPECT_NE(rowHeader(options).find("Huge%"), std::string::npos);
  EXPECT_EQ(rowText(row(), options).size(), rowHeader(options).size());
}

TEST(GroupsText, KeepsTheNameOfAFile) {
  Group group;
  group.name = "/opt/venv/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so";
  group.kind = MappingKind::kFile;
  group.start = 0x7f12a0000000, group.mappings = 4;
  auto last = [&](Grouping grouping) {
    std::string text = groupsText({group}, grouping, 20, {});
    text = text.substr(text.find('\n') + 1);
    EXPECT_LE(base::displayWidth(text), 81U) << text;
    return text.substr(text.find("file") + 11);
  };
  EXPECT_EQ(last(Grouping::kFile), "…/libtorch_cuda.so (4 mappings)\n");
  EXPECT_EQ(last(Grouping::kMapping), "0x7f12a0000000 libtorch_cuda.so\n");
  group.name = "/usr/lib/libcudnn_engines_runtime_compiled.so.9";
  EXPECT_EQ(last(Grouping::kFile), "…n_engines_runtime_compiled.so.9\n");
}

}  // namespace
}  // namespace tidegauge::wss
