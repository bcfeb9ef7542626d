// The text of a what-if, for cases without an example.
#include "report/what_if/what_if_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text_layout.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::report {
namespace {

// Half of a device of 4 GiB: relative to what the driver had if that is known, else alone.
TEST(WhatIfText, AFractionIsOfTheDriversMemoryWhereThatIsKnown) {
  testing::TraceBuilder b;
  b.segmentAlloc(kMiB << 20, 20 * kMiB).alloc(kMiB << 20, 20 * kMiB);
  analysis::AnalysedTrace analysed(b.build());
  analysis::WhatIf report;
  report.verified.events_checked = report.verified.events_exact = 2;
  report.verified.settings.fraction = 0.5;
  report.device_bytes = 4096 * kMiB;
  auto text = [&] { return whatIfText(analysed, *analysed.devices.front(), report, {}); };
  EXPECT_NE(text().find("fraction of 0.5 limited it to 2.00 GiB, or slightly more."),
            std::string::npos);
  report.capacity_bytes = 3072 * kMiB;
  report.capacity_source = analysis::CapacitySource::kOutOfMemory;
  EXPECT_NE(text().find("limited it to 2.00 GiB of that, or slightly more."), std::string::npos);
  report.capacity_bytes = 2048 * kMiB;  // all of it: nothing to report
  EXPECT_EQ(text().find("fraction of 0.5"), std::string::npos);
}

// A device of 1 GiB on which `failed` requests failed; each candidate is named with its failures.
analysis::WhatIf outcomes(uint64_t failed,
                          const std::vector<std::pair<std::string, uint64_t>>& others) {
  analysis::WhatIf report;
  report.verified.events_checked = report.verified.events_exact = 2;
  report.capacity_bytes = 1024 * kMiB;
  report.capacity_source = analysis::CapacitySource::kOutOfMemory;
  report.recorded_ooms = report.own.stats.ooms = failed;
  for (const auto& [conf, ooms] : others) {
    analysis::Replayed& it = report.candidates.emplace_back();
    it.conf = conf;
    it.stats.ooms = ooms;
  }
  return report;
}

class WhatIfSentences : public ::testing::Test {
 protected:
  WhatIfSentences() : analysed_(trace()) {}
  static model::Trace trace() {
    testing::TraceBuilder b;
    b.segmentAlloc(kMiB << 20, 20 * kMiB).alloc(kMiB << 20, 20 * kMiB);
    return b.build();
  }
  bool says(const analysis::WhatIf& report, const std::string& sentence) const {
    std::vector<std::string> all = whatIfSentences(analysed_, report);
    return std::ranges::find(all, sentence) != all.end();
  }
  analysis::AnalysedTrace analysed_;
};

TEST_F(WhatIfSentences, SettingsThatHelpTooLittleAreCounted) {
  EXPECT_TRUE(says(outcomes(3, {{"max_split_size_mb:128", 2}, {"expandable_segments:True", 2}}),
                   "2 settings let one more request succeed, but not all: max_split_size_mb:128; "
                   "expandable_segments:True."));
  EXPECT_TRUE(says(outcomes(9, {{"max_split_size_mb:128", 5}, {"", 8}, {"a:1", 9}, {"b:1", 10}}),
                   "2 settings let 1 to 4 more requests succeed, but not all: "
                   "max_split_size_mb:128; default settings."));
  EXPECT_TRUE(says(outcomes(9, {{"max_split_size_mb:128", 6}, {"a:1", 9}}),
                   "1 setting lets 3 more requests succeed, but not all: max_split_size_mb:128."));
  EXPECT_TRUE(says(outcomes(3, {{"a:1", 3}}), "No tested setting lets more requests succeed."));
}

TEST_F(WhatIfSentences, WhereMemoryIsFullTheyAreCountedToo) {
  analysis::WhatIf report = outcomes(3, {{"max_split_size_mb:128", 2}});
  report.own.stats[replay::Quantity::kActiveBytes].all.peak = 1000 * kMiB;
  EXPECT_TRUE(
      says(report,
           "1 setting lets one more request succeed, but not all: max_split_size_mb:128. "
           "At the peak, 1,000 MiB of 1.00 GiB were in active blocks. The program needs more "
           "memory, or it must hold less."));
  report.candidates.front().stats.ooms = 3;
  EXPECT_TRUE(says(report,
                   "No tested setting helps. At the peak, 1,000 MiB of 1.00 GiB were in active "
                   "blocks. The program needs more memory, or it must hold less."));
}

TEST_F(WhatIfSentences, ANameKeepsItsFirstLetter) {
  using What = analysis::ProgramEdit::What;
  auto first = [&](const analysis::ProgramEdit& edit) {
    analysis::WhatIf report = outcomes(0, {});
    report.edits.emplace_back().edit = edit;
    std::string sentence = whatIfSentences(analysed_, report).front();
    return sentence.substr(0, sentence.find(':'));
  };
  EXPECT_EQ(first({What::kFreeAt, "forward", "9"}), "forward freed at step 9");
  EXPECT_EQ(first({What::kEmptyCache, {}, "9"}), "empty_cache() at step 9");
  EXPECT_EQ(first({What::kDrop, "forward"}), "Without forward");
}

TEST_F(WhatIfSentences, WhoSearchedTheSmallestSizeNeedsNoOther) {
  analysis::WhatIf report = outcomes(0, {});
  report.capacity_bytes.reset();
  report.capacity_source = analysis::CapacitySource::kUnknown;
  std::string unknown =
      "The file does not contain the size of the device, so no request fails in these replays.";
  EXPECT_TRUE(says(report, unknown + " Set the size with --capacity, e.g. --capacity 80GiB."));
  report.own.min_capacity_bytes = 20 * kMiB;
  EXPECT_TRUE(says(report, unknown));
}

TEST_F(WhatIfSentences, UnmappedMemoryWasNotAvailable) {
  analysis::WhatIf report = outcomes(1, {});
  WhatIfPage page;
  auto text = [&] { return whatIfText(analysed_, *analysed_.devices.front(), report, page); };
  EXPECT_NE(text().find("1.00 GiB were available to this process"), std::string::npos);
  report.may_be_unmapped = true;
  EXPECT_EQ(text().find("were available"), std::string::npos);
  EXPECT_NE(text().find("Memory of a MemPool may be unmapped"), std::string::npos);
  EXPECT_NE(text().find("The replays use 1.00 GiB"), std::string::npos);
}

// No line is wider than the page, and nothing is left out.
TEST_F(WhatIfSentences, ANarrowPageCutsNothing) {
  std::string conf =
      "max_split_size_mb:128,garbage_collection_threshold:0.8,per_process_memory_fraction:0.95";
  analysis::WhatIf report = outcomes(2, {{conf, 0}});
  report.candidates.front().stats.driver_allocs = 123'456'789;
  report.best_helps = true;
  for (size_t columns : {40, 60, 79}) {
    WhatIfPage page;
    page.columns = columns;
    std::string text = whatIfText(analysed_, *analysed_.devices.front(), report, page);
    EXPECT_EQ(text.find("…"), std::string::npos) << text;
    EXPECT_NE(text.find("123,456,789"), std::string::npos) << text;
    for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
      EXPECT_LE(base::displayWidth(text.substr(at, end - at)), columns) << text;
  }
}

}  // namespace
}  // namespace tidegauge::report
