#include "wss/words/cold_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/bytes.h"

namespace tidegauge::wss {
namespace {

using testing::HasSubstr;

void add(Row& row, uint64_t start, const std::string& path, uint64_t rss_mib, uint64_t ref_mib) {
  MappingUse use;
  use.mapping.start = start;
  use.mapping.end = start + rss_mib * kMiB;
  use.mapping.path = path;
  use.mapping.kind = path.empty() ? MappingKind::kAnonymous : MappingKind::kFile;
  use.sums.rss = rss_mib * kMiB;
  use.sums.referenced = ref_mib * kMiB;
  row.sums.add(use.sums);
  row.uses.push_back(use);
  row.windows.push_back(row.window);
}

Row rowOf(int64_t window_ns) {
  Row row;
  row.window = {window_ns, window_ns, window_ns};
  return row;
}

TEST(ColdText, NamesWhatWasNotTouched) {
  Row row = rowOf(60'000'000'000);
  add(row, 0x7f1200000000, "", 1000, 100);
  add(row, 0x7f1300000000, "", 30, 30);
  add(row, 0x7f1400000000, "/usr/lib/libtorch_cuda.so", 200, 10);
  add(row, 0x7f1500000000, "/usr/lib/libtorch_cuda.so", 130, 10);
  EXPECT_EQ(coldText(row, 200),
            "1.18 GiB of 1.33 GiB resident memory were not touched in 60 s: 900 MiB of anonymous "
            "0x7f1200000000, 310 MiB of libtorch_cuda.so.\n");
}

TEST(ColdText, SaysWhatIsElsewhere) {
  Row row = rowOf(60'000'000'000);
  for (uint64_t i = 0; i < 40; ++i) add(row, 0x7f0000000000 + (i << 30), "", 4, 0);
  EXPECT_EQ(coldText(row, 200), "160 MiB of 160 MiB resident memory were not touched in 60 s.\n");
  add(row, 0x7e0000000000, "", 100, 0);
  EXPECT_THAT(coldText(row, 200),
              HasSubstr(": 100 MiB of anonymous 0x7e0000000000, 160 MiB elsewhere."));
}

// What was reclaimed may be what was touched; and who did not run needs nothing yet.
TEST(ColdText, SaysNothingOfReclaimNorOfAProcessThatDidNotRun) {
  Row row = rowOf(60'000'000'000);
  add(row, 0x7f1200000000, "", 1000, 100);
  row.meanwhile.is_reclaimed = true;
  EXPECT_EQ(coldText(row, 200), "");
  row.meanwhile = {};
  row.meanwhile.work.ran_ns = 0;
  EXPECT_EQ(coldText(row, 200), "");
  row.meanwhile.work.ran_ns = 1;
  EXPECT_NE(coldText(row, 200), "");
}

TEST(ColdText, SaysNothingOfShortWindowsNorOfLittle) {
  Row brief = rowOf(900'000'000);
  add(brief, 0x7f1200000000, "", 1000, 100);
  EXPECT_EQ(coldText(brief, 200), "");
  Row little = rowOf(60'000'000'000);
  add(little, 0x7f1200000000, "", 1000, 800);
  EXPECT_EQ(coldText(little, 200), "");
  Row small = rowOf(60'000'000'000);
  add(small, 0x7f1200000000, "", 15, 0);
  EXPECT_EQ(coldText(small, 200), "");
}

}  // namespace
}  // namespace tidegauge::wss
