#include "report/story/brief.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/text_layout.h"
#include "report/story/report_text.h"
#include "support/bytes.h"
#include "support/messy_trace.h"
#include "support/trace_builder.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using testing::TraceBuilder;

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

size_t lineCount(const std::string& text) {
  return static_cast<size_t>(std::ranges::count(text, '\n'));
}

// Three segments of 100 MiB that a block of 2 MiB cuts up: a setting helps.
model::Trace fragmented(int devices = 1) {
  TraceBuilder b;
  b.settings().present = true;
  b.settings().items.emplace_back("expandable_segments", "False");
  for (int device = 0; device < devices; ++device) {
    b.device(device).stack({"forward@/home/me/model.py:7"});
    for (uint64_t i = 0; i < 3; ++i) {
      uint64_t a = kA + i * kGiB;
      b.segmentAlloc(a, 100 * kMiB).alloc(a, 98 * kMiB).alloc(a + 98 * kMiB, 2 * kMiB);
      b.free(a, 98 * kMiB);
    }
    if (device == 0) b.oom(20 * kMiB, 150 * kMiB);
  }
  return b.build();
}

TEST(Brief, AnswersInOrder) {
  AnalysedTrace analysed(fragmented());
  std::string text = reportText(analysed, TextOptions{.name = "x.pickle"});
  size_t at = 0;
  for (std::string_view part :
       {"x.pickle: ", "cuda:0: Out of memory at step 15", "× out of memory", "What happened",
        "The program requested 150 MiB", "Why", "Fragmentation. 294 MiB were in 3 free ranges",
        "What helps", "Who holds it", "More"}) {
    size_t found = text.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << "\n" << text;
    at = found;
  }
  EXPECT_FALSE(has(text, "SELECT"));
  EXPECT_TRUE(has(reportText(analysed, TextOptions{.evidence = true}), "SELECT"));
}

TEST(Brief, IsAtMostFortyLinesOfAHundredColumns) {
  auto expectShort = [](const AnalysedTrace& analysed) {
    std::string text = reportText(analysed, TextOptions{});
    EXPECT_LE(lineCount(text), 40U) << text;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(base::displayWidth(line), 100U) << line;
  };
  expectShort(AnalysedTrace(fragmented(1)));
  expectShort(AnalysedTrace(fragmented(8)));
  for (uint64_t seed = 1; seed <= 60; ++seed)
    expectShort(AnalysedTrace(testing::messyTrace({.seed = seed, .wild = seed % 2 == 0})));
}

TEST(Brief, DescribesTheDeviceThatFailed) {
  AnalysedTrace analysed(fragmented(8));
  std::string text = reportText(analysed, TextOptions{});
  EXPECT_TRUE(has(text, "cuda:0: Out of memory")) << text;
  EXPECT_TRUE(has(text, "cuda:1: peak active 104 MiB, peak reserved 300 MiB; no request failed."))
      << text;
  EXPECT_TRUE(has(text, "more; --device N selects one.")) << text;
}

TEST(Brief, ANarrowPageHasNoChart) {
  AnalysedTrace analysed(fragmented());
  std::string text = reportText(analysed, TextOptions{.columns = 60});
  EXPECT_FALSE(has(text, "█"));
  EXPECT_TRUE(has(text, "  What happened\n"));
}

}  // namespace
}  // namespace tidegauge::report
