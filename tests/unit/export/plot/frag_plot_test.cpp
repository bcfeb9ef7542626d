// The pictures of `frag --plot`: their texts, and the positions.
#include "export/plot/frag_plot.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "export/plot/plot_lines.h"
#include "report/frag/frag_report.h"
#include "support/bytes.h"
#include "support/frag_traces.h"
#include "support/trace_builder.h"

namespace tidegauge::exporting {
namespace {

using analysis::AnalysedTrace;
using model::BlockState;
using report::FragReport;
using testing::combOf;
using testing::movingHeap;
using testing::ofDriver;
using testing::TraceBuilder;

FragReport reportOf(const AnalysedTrace& analysed) {
  return report::gatherFrag(analysed, {.device = analysed.devices.at(0).get(), .range = {}}, {});
}

TEST(FragPlot, WithoutAnAllocatorThePictureHasANoteForTheScore) {
  for (bool has_allocator : {true, false}) {
    model::Trace trace = ofDriver(false);
    trace.devices.at(0).has_allocator = has_allocator;
    AnalysedTrace analysed(std::move(trace));
    std::unique_ptr<Canvas> canvas = svgCanvas(kPlotWidth, kPlotHeight, "a picture");
    drawFrag(*canvas, analysed, reportOf(analysed), {.name = "a"});
    std::string svg = canvas->finish();
    auto count = [&](std::string_view text) {
      size_t times = 0;
      for (size_t at = svg.find(text); at != std::string::npos; at = svg.find(text, at + 1))
        ++times;
      return times;
    };
    EXPECT_EQ(count("none: no allocator cuts this memory up"), has_allocator ? 0U : 2U);
    EXPECT_EQ(count(">address space<"), has_allocator ? 1U : 0U);
    EXPECT_EQ(count("forecast"), has_allocator ? 1U : 0U);
    EXPECT_EQ(count(">large gaps<"), has_allocator ? 1U : 0U);
  }
}

// Keeps texts with their positions, and nothing else.
class Texts : public Canvas {
 public:
  struct Text {
    Point at;
    std::string text;
  };
  explicit Texts(std::vector<Text>& texts) : texts_(texts) {}
  void boxes(std::span<const Box>, const Colour&) override {}
  void line(std::span<const Point>, const Stroke&) override {}
  void area(std::span<const Point>, const Colour&) override {}
  void text(Point at, std::string_view text, const TextStyle&) override {
    texts_.push_back({at, std::string(text)});
  }
  std::string finish() override { return {}; }

 private:
  std::vector<Text>& texts_;
};

std::vector<Texts::Text> textsOf(model::Trace trace) {
  AnalysedTrace analysed(std::move(trace));
  FragReport report = reportOf(analysed);
  std::vector<Texts::Text> texts;
  Texts canvas(texts);
  drawFrag(canvas, analysed, report, {.name = "a"});
  return texts;
}

const Texts::Text* find(const std::vector<Texts::Text>& texts, std::string_view begin) {
  for (const Texts::Text& text : texts) {
    if (text.text.starts_with(begin)) return &text;
  }
  return nullptr;
}

TEST(FragPlot, TheForecastHasItsRoomForItself) {
  std::vector<Texts::Text> texts = textsOf(movingHeap());
  const Texts::Text* score = find(texts, "Layout score");
  const Texts::Text* features = find(texts, "Features");
  ASSERT_NE(score, nullptr);
  ASSERT_NE(features, nullptr);
  double right = 0;  // of the panels: other legends are there
  for (const Texts::Text& text : texts) {
    if (text.text == "stranded") right = text.at.x - 36;
  }
  for (const char* entry : {"reserved bytes", "address space", "forecast"}) {
    const Texts::Text* text = find(texts, entry);
    ASSERT_NE(text, nullptr) << entry;
    EXPECT_EQ(text->at.y, score->at.y) << "in the line of the title";
  }
  for (const Texts::Text& text : texts) {
    bool beside = text.at.y > score->at.y && text.at.y < features->at.y - 4 && text.at.x > right;
    EXPECT_FALSE(beside) << text.text;
  }
}

TEST(FragPlot, StepsHaveTheirTimes) {
  TraceBuilder b;
  b.time(0).segmentAlloc(kA, 1024 * kMiB);
  for (uint64_t i = 0; i < 40; ++i) {
    b.time(static_cast<int64_t>(1000 + i * 250'000)).alloc(kA + i * 4 * kMiB, kMiB);
  }
  std::vector<Texts::Text> texts = textsOf(b.build());
  const Texts::Text* time = find(texts, "time");
  ASSERT_NE(time, nullptr);
  const Texts::Text* zero = find(texts, "0.000 s");
  ASSERT_NE(zero, nullptr);
  EXPECT_EQ(zero->at.y, time->at.y);
  std::vector<Texts::Text> timeless = textsOf(movingHeap());
  EXPECT_EQ(find(timeless, "time"), nullptr) << "it has none";
}

TEST(FragPlot, TimesHaveOneForm) {
  EXPECT_EQ(timeLabel(250'000, 2'000'000), "0.250 s");
  EXPECT_EQ(timeLabel(250'000'000, 2'000'000'000), "250 s");
  EXPECT_EQ(timeLabel(3'840'000'000, 20'000'000'000), "1 h 04 m");
}

// The content of the picture: lives as marks, red at an out-of-memory event, all names escaped.
TEST(FragPlot, DrawsLivesHolesAndTheOom) {
  TraceBuilder b;
  b.segmentAlloc(kA, 40 * kMiB).alloc(kA, 10 * kMiB).alloc(kA + 20 * kMiB, 20 * kMiB);
  b.freeRequested(kA, 10 * kMiB).freeCompleted(kA, 10 * kMiB).oom(kMiB, 100 * kMiB);
  b.segmentAlloc(kA + 400 * kMiB, 20 * kMiB).alloc(kA + 400 * kMiB, 20 * kMiB);
  b.finalSegment(kA, 40 * kMiB)
      .block(20 * kMiB, BlockState::kInactive)
      .block(20 * kMiB, BlockState::kActiveAllocated, 20 * kMiB);
  b.finalSegment(kA + 400 * kMiB, 20 * kMiB)
      .block(20 * kMiB, BlockState::kActiveAllocated, 20 * kMiB);
  AnalysedTrace analysed(b.build());
  FragReport report = reportOf(analysed);
  auto canvas = svgCanvas(kPlotWidth, kPlotHeight, "a <b> & \"c\"");
  drawFrag(*canvas, analysed, report, {.name = "x<script>&.pickle"});
  std::string svg = canvas->finish();
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"), std::string::npos);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_NE(svg.find("#7f0818"), std::string::npos);  // dark red: the largest, live at the event
  EXPECT_NE(svg.find("#0a3a5e"), std::string::npos);  // dark blue: the largest, born after it
  EXPECT_NE(svg.find("out of memory"), std::string::npos);
  EXPECT_NE(svg.find("2 ranges owned, addresses between are left out"), std::string::npos);
  EXPECT_NE(svg.find("0x7f0000000000"), std::string::npos);
  EXPECT_NE(svg.find("no forecast:"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  auto plain = svgCanvas(kPlotWidth, kPlotHeight, "plain");
  drawFrag(*plain, analysed, report, {.name = "x", .plain_address = true});
  EXPECT_EQ(plain->finish().find("ranges owned"), std::string::npos);
}

TEST(FragPlot, SaysHowManyOomsItLeavesOut) {
  TraceBuilder b;
  b.segmentAlloc(kA, 40 * kMiB);
  for (int i = 0; i < 1201; ++i) b.oom(kMiB, 100 * kMiB);
  AnalysedTrace analysed(b.build());
  auto canvas = svgCanvas(kPlotWidth, kPlotHeight, "");
  drawFrag(*canvas, analysed, reportOf(analysed), {.name = "x"});
  EXPECT_NE(canvas->finish().find("the first 200 of 1,201 out-of-memory events"),
            std::string::npos);
}

TEST(FragPlot, PngIsAPngWhereThereIsOne) {
  if (!hasPng()) GTEST_SKIP() << "this build has no cairo: libcairo2-dev was not installed";
  AnalysedTrace analysed(combOf(4, 20 * kMiB, 30 * kMiB));
  auto canvas = pngCanvas(kPlotWidth, kPlotHeight);
  drawFrag(*canvas, analysed, reportOf(analysed), {.name = "x"});
  std::string png = canvas->finish();
  EXPECT_TRUE(png.starts_with("\x89PNG\r\n\x1a\n"));
  EXPECT_NE(png.find("IEND"), std::string::npos);
}

TEST(FragPlot, OfADeviceThatNeverOwnedMemory) {
  TraceBuilder b;
  b.oom(5, 10);
  AnalysedTrace analysed(b.build());
  auto canvas = svgCanvas(kPlotWidth, kPlotHeight, "");
  FragReport report = reportOf(analysed);
  drawFrag(*canvas, analysed, report, {.name = "x"});
  EXPECT_NE(canvas->finish().find("never owned memory"), std::string::npos);
}

}  // namespace
}  // namespace tidegauge::exporting
