#include "report/story/report_text.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/text_layout.h"
#include "support/bytes.h"
#include "support/messy_trace.h"
#include "support/trace_builder.h"

namespace tidegauge::report {
namespace {

const TextOptions kFull{.full = true, .evidence = true};

using analysis::AnalysedTrace;
using model::BlockState;
using model::SegmentKind;
using testing::TraceBuilder;

void expectFits(const std::string& text, size_t columns) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    ASSERT_LE(base::displayWidth(line), columns) << line;
    ASSERT_EQ(base::printable(line), line);  // nothing that steers a terminal
  }
}

// A program that allocates in one function; from step `from` on, `leaky` keeps its memory, in that
// number of lines by turns.
model::Trace leakFrom(int from, int lines = 1) {
  TraceBuilder b;
  uint64_t address = kA;
  for (int step = 0; step < 400; ++step, address += 64 * kMiB) {
    b.stack({"grab@/home/me/plain.c:20", "work@/home/me/plain.c:30", "main@/home/me/plain.c:60"});
    b.alloc(address, 8 * kMiB).free(address, 8 * kMiB);
    if (step < from) continue;
    b.stack({"grab@/home/me/plain.c:20",
             "leaky@/home/me/plain.c:" + std::to_string(40 + step % lines),
             "main@/home/me/plain.c:60"});
    b.alloc(address + 32 * kMiB, kMiB);
  }
  return b.build();
}

std::string growthOf(model::Trace trace) {
  AnalysedTrace analysed(std::move(trace));
  std::string text = reportText(analysed, kFull);
  size_t begin = text.find("  Growth\n");
  text = text.substr(begin, text.find("  Never freed\n") - begin);
  std::string line;  // without its line breaks
  for (char c : text) {
    bool space = c == '\n' || c == ' ';
    if (!space || !line.ends_with(' ')) line += space ? ' ' : c;
  }
  return line;
}

TEST(ReportText, WhatGrowsIsNamedWithWhoCallsItsWrapper) {
  std::string said = growthOf(leakFrom(0));
  EXPECT_NE(said.find("grab ‹ leaky held "), std::string::npos) << said;
}

TEST(ReportText, ALeakThatBeganLateHasItsFirstStep) {
  std::string said = growthOf(leakFrom(250));
  // 250 rounds of 3 events; then the 4th event of the next one. 150 MiB in 150 × 4 events.
  EXPECT_NE(said.find("grab ‹ leaky held "), std::string::npos) << said;
  EXPECT_NE(said.find("in 150 blocks, after growth that began late, at step 753 of 1,350."),
            std::string::npos)
      << said;
}

// Growth uses each stack's own line, the wall the sum: they must not contradict each other.
TEST(ReportText, ALeakThatManyStacksShareIsNotDenied) {
  std::string said = growthOf(leakFrom(100, 100));
  EXPECT_NE(said.find("No single stack grew steadily over 96 slices"), std::string::npos) << said;
  EXPECT_NE(said.find("but active memory grew"), std::string::npos) << said;
  said = growthOf(leakFrom(400));
  EXPECT_NE(said.find("No stack grew steadily"), std::string::npos) << said;
  EXPECT_EQ(said.find("but active memory"), std::string::npos) << said;
}

TEST(ReportText, BlocksOlderThanTheRecordingAreNotItsAllocations) {
  TraceBuilder b;
  b.stack({"f@a.py:1"}).alloc(kA, kMiB).freeCompleted(kA + 4 * kMiB, kMiB);
  b.finalSegment(kA, 20 * kMiB).block(kMiB, BlockState::kActiveAllocated, kMiB);
  AnalysedTrace analysed(b.build());
  std::string said = reportText(analysed, kFull);
  EXPECT_NE(said.find("1 allocation and 1 older block"), std::string::npos) << said;
}

TEST(ReportText, HostileNamesStayInsideTheirColumns) {
  const std::vector<std::string> names = {
      "plain",
      std::string(5000, 'x'),
      "\x1b[2J\x07 clear\r\n",
      "\u009b31m \u202Egnp.exe",
      "記憶記憶記憶記憶記憶記憶記憶記憶記憶記憶記憶記憶記憶記憶記憶記憶記憶記憶記憶記憶記憶記憶",
      "\xff\xfe\xc3(\xe2\x82",
      std::string("nul\0byte", 8)};
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB);
  uint64_t address = kA;
  int64_t time = 1000;
  for (const std::string& name : names) {
    b.stack({name + "@/home/" + name + ".py:7", name + "@main.py:1"});
    b.time(time).alloc(address, 600 * 1024);
    b.annotation(name, time, time + 1, 3);
    address += kMiB;
    time += 10;
  }
  b.oom(3, 40 * kMiB);
  b.settings().present = true;
  for (const std::string& name : names) b.settings().conf += name + ",";
  model::Trace trace = b.build();
  trace.source.name = "folder/" + names[2] + names[5];
  trace.source.format = names[1];
  for (const std::string& name : names) {
    trace.issues.add({.kind = model::IssueKind::kUnknownKey, .detail = name});
  }
  AnalysedTrace analysed(std::move(trace));
  for (size_t columns : {100U, 60U, 40U, 20U, 8U}) {
    expectFits(reportText(analysed, {.columns = columns, .full = true, .evidence = true}),
               std::max<size_t>(columns, 8));
  }
}

TEST(ReportText, MessyTracesFit) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    AnalysedTrace analysed(testing::messyTrace({.seed = seed, .wild = seed % 2 == 0}));
    expectFits(reportText(analysed, kFull), 100);
  }
}

TEST(ReportText, SaysWhatIsThere) {
  TraceBuilder b;
  b.segmentAlloc(kA, 2 * kMiB).stack({"forward@/home/me/model.py:8"}).alloc(kA, 700);
  b.finalSegment(kA, 2 * kMiB, SegmentKind::kSmall);
  b.block(1024, BlockState::kActiveAllocated, 700).block(2 * kMiB - 1024, BlockState::kInactive);
  AnalysedTrace analysed(b.build());
  std::string text = reportText(analysed, kFull);
  for (const char* part :
       {"2 events, 1 allocation, 1 stack\n", "Holders of 1.0 KiB at the peak: 1 block, 1 stack\n",
        "model.py:8 forward", "cuda:0: Peak memory at step 1\n", "ok: Active 1.0 KiB"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find("DIFFERS"), std::string::npos);
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_NE(reportText(analysed, {.colour = true, .full = true}).find("\033[1m"),
            std::string::npos);
}

TEST(ReportText, NarrowPagesKeepTheirNumbers) {
  TraceBuilder b;
  b.segmentAlloc(kA, 20 * kMiB).stack({"forward@/home/me/model.py:8", "main@train.py:2"});
  b.alloc(kA, 5 * kMiB);
  AnalysedTrace analysed(b.build());
  std::string text = reportText(analysed, {.columns = 40, .full = true, .evidence = true});
  expectFits(text, 40);
  EXPECT_EQ(text.find("…"), std::string::npos) << text;
  for (const char* part :
       {"  active: peak 5.0 MiB at step 1\n    start 0, end 5.0 MiB\n",
        "      5.0 MiB  100.0 %        1 ×\n    model.py:8 forward ‹ train.py:2 main\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(ReportText, ADeviceWithoutEventsHasNoStep) {
  TraceBuilder b;
  b.finalSegment(kA, 20 * kMiB).block(20 * kMiB, BlockState::kInactive);
  model::Trace trace = b.build();
  trace.issues.add({.kind = model::IssueKind::kUnknownKey, .device = 0, .first_step = 0});
  std::string text = reportText(AnalysedTrace(std::move(trace)), kFull);
  EXPECT_EQ(text.find("at step 0"), std::string::npos) << text;
}

TEST(ReportText, AFileWithoutDevicesSaysSo) {
  AnalysedTrace analysed(model::Trace{});
  EXPECT_NE(reportText(analysed, kFull).find("The file has no device"), std::string::npos);
}

}  // namespace
}  // namespace tidegauge::report
