#include "analysis/compare/diff_stacks.h"

#include <gtest/gtest.h>

#include <set>

#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::analysis {
namespace {

using testing::TraceBuilder;

using Frames = std::vector<std::string>;

// One allocation per stack; stack ids are 0, 1, … in that order.
AnalysedTrace traceWith(const std::vector<Frames>& stacks) {
  TraceBuilder b;
  uint64_t address = kA;
  for (const Frames& frames : stacks) b.stack(frames).alloc(address += 1 << 20, 512);
  return AnalysedTrace(b.build());
}

std::vector<StackOnSide> allOf(const AnalysedTrace& analysed, std::vector<uint64_t> bytes = {}) {
  std::vector<StackOnSide> side;
  for (uint32_t i = 0; i < analysed.trace.stacks.size(); ++i) {
    side.push_back({StackId(i), i < bytes.size() ? bytes[i] : 512});
  }
  return side;
}

// "0=1 moved", in order.
std::set<std::string> matched(const AnalysedTrace& a, const AnalysedTrace& b,
                              std::vector<uint64_t> bytes_a = {},
                              std::vector<uint64_t> bytes_b = {}) {
  StackKeys keys;
  std::set<std::string> found;
  for (const StackPair& pair : matchStacks(keys, a, allOf(a, bytes_a), b, allOf(b, bytes_b))) {
    found.insert(std::to_string(pair.a) + "=" + std::to_string(pair.b) + " " +
                 std::string(name(pair.match)));
  }
  return found;
}

using Pairs = std::set<std::string>;

TEST(DiffStacks, PathsEndWhereTheyAreTheSameEverywhere) {
  EXPECT_EQ(tailOfPath("/venv/lib/python3.10/site-packages/torch/nn/x.py"), "torch/nn/x.py");
  EXPECT_EQ(tailOfPath("/usr/lib/python3/dist-packages/torch/x.py"), "torch/x.py");
  EXPECT_EQ(tailOfPath("/usr/lib/python3.12/json/decoder.py"), "json/decoder.py");
  EXPECT_EQ(tailOfPath("/home/me/run7/train.py"), "train.py");
  EXPECT_EQ(tailOfPath("C:\\run\\train.py"), "train.py");
  EXPECT_EQ(tailOfPath("pkg/__init__.py"), "pkg/__init__.py");
  EXPECT_EQ(tailOfPath("/a/b/pkg/__init__.py"), "pkg/__init__.py");
  EXPECT_EQ(tailOfPath("__init__.py"), "__init__.py");
  EXPECT_EQ(tailOfPath("/__init__.py"), "__init__.py");
  EXPECT_EQ(tailOfPath("lib/python3.10"), "python3.10") << "no folder below it";
  EXPECT_EQ(tailOfPath(""), "");
  EXPECT_EQ(tailOfPath("/"), "");
}

TEST(DiffStacks, AddressesInNamesGo) {
  EXPECT_EQ(withoutAddresses("f at 0x7f12ab, g+0x10"), "f at 0x, g+0x");
  EXPECT_EQ(withoutAddresses("0x"), "0x");
  EXPECT_EQ(withoutAddresses("0xyz x0x"), "0xyz x0x");
  EXPECT_EQ(withoutAddresses(""), "");
}

TEST(DiffStacks, TheSameIsExact) {
  AnalysedTrace a = traceWith({{"f@m.py:1", "main@t.py:9"}, {"g@m.py:2"}});
  AnalysedTrace b = traceWith({{"g@m.py:2"}, {"f@m.py:1", "main@t.py:9"}});
  EXPECT_EQ(matched(a, b), (Pairs{"0=1 exact", "1=0 exact"}));
}

TEST(DiffStacks, OtherFoldersAreAPath) {
  AnalysedTrace a =
      traceWith({{"f@/home/a/m.py:1", "x@/v1/lib/python3.10/site-packages/t/n.py:7"}});
  AnalysedTrace b =
      traceWith({{"f@/srv/b/m.py:1", "x@/opt/lib/python3.10/site-packages/t/n.py:7"}});
  EXPECT_EQ(matched(a, b), (Pairs{"0=0 path"}));
}

TEST(DiffStacks, OtherLinesAreMoved) {
  AnalysedTrace a = traceWith({{"f@m.py:10", "main@t.py:9"}});
  AnalysedTrace b = traceWith({{"f@/x/m.py:12", "main@t.py:19"}});
  EXPECT_EQ(matched(a, b), (Pairs{"0=0 moved"}));
}

TEST(DiffStacks, OtherFrameworksMatchByTheUsersFrames) {
  AnalysedTrace a = traceWith(
      {{"at::_ops::mm::call(int)@x.cpp:0", "forward@torch/nn/linear.py:114", "f@m.py:10"}});
  AnalysedTrace b = traceWith({{"at::_ops::mm::call(long)@y.cpp:0", "_call@torch/nn/module.py:3",
                                "forward@torch/nn/linear.py:134", "f@m.py:11"},
                               {"at::_ops::relu::call(long)@y.cpp:0", "f@m.py:11"}});
  EXPECT_EQ(matched(a, b), (Pairs{"0=0 user"})) << "another operation is another thing";
}

TEST(DiffStacks, AnotherFunctionIsAnotherStack) {
  AnalysedTrace a = traceWith({{"f@m.py:1"}, {"h@m.py:1"}});
  AnalysedTrace b = traceWith({{"g@m.py:1"}, {"h@other.py:1"}});
  EXPECT_EQ(matched(a, b), Pairs{});
}

TEST(DiffStacks, MovedLinesKeepTheirOrder) {
  AnalysedTrace a = traceWith({{"f@m.py:10"}, {"f@m.py:20"}});
  AnalysedTrace b = traceWith({{"f@m.py:23"}, {"f@m.py:13"}});
  EXPECT_EQ(matched(a, b), (Pairs{"0=1 moved", "1=0 moved"}));
}

TEST(DiffStacks, TheSmallestShiftDecidesWhichIsNew) {
  AnalysedTrace a = traceWith({{"f@m.py:10"}, {"f@m.py:20"}});
  AnalysedTrace b = traceWith({{"f@m.py:3"}, {"f@m.py:12"}, {"f@m.py:22"}});
  EXPECT_EQ(matched(a, b), (Pairs{"0=1 moved", "1=2 moved"}));
  EXPECT_EQ(matched(b, a), (Pairs{"1=0 moved", "2=1 moved"})) << "whichever is A";
}

TEST(DiffStacks, EqualShiftsAreDecidedByBytes) {
  AnalysedTrace a = traceWith({{"f@m.py:10"}});
  AnalysedTrace b = traceWith({{"f@m.py:8"}, {"f@m.py:12"}});
  EXPECT_EQ(matched(a, b, {700}, {100, 600}), (Pairs{"0=1 moved"}));
  EXPECT_EQ(matched(a, b, {200}, {100, 600}), (Pairs{"0=0 moved"}));
}

TEST(DiffStacks, ExactPartnersAreTakenBeforeNearOnes) {
  AnalysedTrace a = traceWith({{"f@m.py:10"}, {"f@m.py:11"}});
  AnalysedTrace b = traceWith({{"f@m.py:11"}, {"f@m.py:12"}});
  EXPECT_EQ(matched(a, b), (Pairs{"1=0 exact", "0=1 moved"}));
}

TEST(DiffStacks, WhatTheOtherHasElsewhereIsNotMoved) {
  AnalysedTrace a = traceWith({{"f@m.py:10"}, {"f@m.py:12"}});
  AnalysedTrace b = traceWith({{"f@/x/m.py:12"}, {"f@/x/m.py:30"}});
  StackKeys keys;
  // A has only its first, B its second: line 12 is in both files.
  std::vector<StackOnSide> of_a = {{StackId(0), 1}, {StackId(1), 1}};
  std::vector<StackOnSide> of_b = {{StackId(1), 1}};
  auto pairs = matchStacks(keys, a, of_a, b, of_b);
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].a, 0u) << "line 12 is gone, line 10 moved to 30";
  EXPECT_TRUE(matchStacks(keys, a, {{StackId(0), 1}}, a, {{StackId(1), 1}}).empty())
      << "two places of one recording";
}

TEST(DiffStacks, LinesOfAnySizeAreUsable) {
  AnalysedTrace a = traceWith({{"f@m.py:18446744073709551615"}, {"f@m.py:0"}});
  AnalysedTrace b = traceWith({{"f@m.py:5"}});
  EXPECT_EQ(matched(a, b), (Pairs{"1=0 moved"}));
}

TEST(DiffStacks, CrowdsArePairedInOrder) {  // 4,000 × 5,000 would be too much to search
  TraceBuilder many_a, many_b;
  for (uint64_t i = 0; i < 400; ++i) {
    many_a.stack({"f@m.py:" + std::to_string(2 * i)}).alloc(kA + (i << 20), 512);
  }
  for (uint64_t i = 0; i < 12'000; ++i) {
    many_b.stack({"f@m.py:" + std::to_string(2 * i + 1)}).alloc(kA + (i << 20), 512);
  }
  AnalysedTrace a(many_a.build());
  AnalysedTrace b(many_b.build());
  Pairs pairs = matched(a, b);
  EXPECT_EQ(pairs.size(), 400u);
  EXPECT_TRUE(pairs.contains("399=399 moved"));
}

}  // namespace
}  // namespace tidegauge::analysis
