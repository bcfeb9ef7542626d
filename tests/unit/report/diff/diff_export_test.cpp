// The comparison as text, JSON and limits.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "base/text_layout.h"
#include "model/recorded_work.h"
#include "report/diff/diff_json.h"
#include "report/diff/diff_limits.h"
#include "report/diff/diff_text.h"
#include "report/diff/diff_words.h"
#include "report/diff/ranks_text.h"
#include "support/bytes.h"
#include "support/trace_builder.h"

namespace tidegauge::report {
namespace {

using analysis::AnalysedTrace;
using analysis::Diff;
using analysis::DiffSide;
using nlohmann::json;
using testing::TraceBuilder;

DiffSide endOf(const AnalysedTrace& analysed) {
  auto devices = analysis::diffDevices(analysed, std::nullopt);
  EXPECT_TRUE(devices.ok());
  auto side = analysis::diffSide(analysed, devices.value(), "end");
  EXPECT_TRUE(side.ok());
  return std::move(side).value();
}

model::Trace holding(uint64_t f_bytes, uint64_t g_bytes, uint64_t line = 1) {
  TraceBuilder b;
  b.time(1000).segmentAlloc(kA, 64 * kGiB);
  if (f_bytes > 0) b.stack({"f@m.py:" + std::to_string(line), "main@t.py:9"}).alloc(kA, f_bytes);
  if (g_bytes > 0) b.stack({"g@m.py:50", "main@t.py:9"}).alloc(kA + 32 * kGiB, g_bytes);
  b.oom(kMiB, 4 * kMiB);
  b.finalSegment(kA, 64 * kGiB);
  auto half = [&](uint64_t live_bytes) {
    using model::BlockState;
    if (live_bytes > 0) b.block(live_bytes, BlockState::kActiveAllocated, live_bytes);
    b.block(32 * kGiB - live_bytes, BlockState::kInactive);
  };
  half(f_bytes);
  half(g_bytes);
  return b.build();
}

struct Pair {
  AnalysedTrace a;
  AnalysedTrace b;
  Diff diff;
  Pair(model::Trace&& of_a, model::Trace&& of_b)
      : a(std::move(of_a)), b(std::move(of_b)), diff(analysis::diffOf(endOf(a), endOf(b))) {}
};

TEST(DiffNumbers, ShareTheUnitThatTheChangeNeeds) {
  auto text = [](uint64_t a, uint64_t b) {
    RowNumbers n = bytesNumbers(a, b);
    return n.a + " | " + n.b + " | " + n.change;
  };
  EXPECT_EQ(text(3 * kGiB + kGiB / 2, 7 * kGiB), "3.50 GiB | 7.00 GiB | +3.50 GiB");
  EXPECT_EQ(text(7 * kGiB, 7 * kGiB), "7.00 GiB | 7.00 GiB | 0");
  EXPECT_EQ(text(34549 * kMiB, 34561 * kMiB), "34,549 MiB | 34,561 MiB | +12.0 MiB");
  EXPECT_EQ(text(kMiB, kMiB - 512), "1,024 KiB | 1,024 KiB | −0.5 KiB");
  EXPECT_EQ(text(kGiB, kGiB + 1), "1,073,741,824 B | 1,073,741,825 B | +1 B");
  EXPECT_EQ(text(0, 0), "0 B | 0 B | 0");
  EXPECT_EQ(text(UINT64_MAX, 0), "16,777,216.00 TiB | 0.00 TiB | −16,777,216.00 TiB");
  EXPECT_EQ(signedCount(3, 3), "0");
  EXPECT_EQ(signedCount(0, 1200), "+1,200");
  EXPECT_EQ(signedCount(2, 0), "−2");
}

TEST(DiffWords, TheVerdictSaysHowAlike) {
  auto verdict = [](model::Trace a, model::Trace b) {
    return diffVerdict(Pair(std::move(a), std::move(b)).diff);
  };
  EXPECT_EQ(
      verdict(holding(kGiB, kGiB), holding(kGiB, kGiB)),
      "A and B are equal: 2.00 GiB and 2.00 GiB at the end; all 2 stacks hold the same bytes.");
  EXPECT_EQ(
      verdict(holding(kGiB, 0), holding(kGiB, 0)),
      "A and B are equal: 1.00 GiB and 1.00 GiB at the end; the one stack holds the same bytes.");
  EXPECT_EQ(verdict(holding(0, 0), holding(0, 0)),
            "A and B are equal: nothing is active at the end.");
  EXPECT_EQ(
      verdict(holding(kGiB, kGiB), holding(kGiB, kGiB + 4 * kMiB)),
      "A and B are nearly equal: 2,048 MiB and 2,052 MiB at the end; 1 of 2 stacks differs, by "
      "4.0 MiB in total.");
  EXPECT_EQ(
      verdict(holding(kGiB, 2 * kGiB), holding(2 * kGiB, kGiB)),
      "A and B hold nearly the same amount, but in different stacks: 3.00 GiB and 3.00 GiB at "
      "the end; 2 of 2 stacks differ, by 2.00 GiB in total.");
  EXPECT_EQ(
      verdict(holding(kGiB, kGiB), holding(2 * kGiB, kGiB)),
      "B holds 1.00 GiB more than A at the end: 2.00 GiB in A and 3.00 GiB in B (+50.0 % of A).");
  EXPECT_EQ(
      verdict(holding(2 * kGiB, kGiB), holding(kGiB, kGiB)),
      "B holds 1.00 GiB less than A at the end: 3.00 GiB in A and 2.00 GiB in B (−33.3 % of A).");
  EXPECT_EQ(verdict(holding(0, 0), holding(kGiB, 0)),
            "B holds 1.00 GiB more than A at the end: 0.00 GiB in A and 1.00 GiB in B.");
}

TEST(DiffText, SaysWhatDiffersInOneScreen) {
  Pair pair(holding(kGiB, 512 * kMiB), holding(2 * kGiB, 0, 7));
  DiffTextOptions options;
  options.columns = 80;
  options.name_a = "before";
  options.name_b = "after";
  EXPECT_EQ(diffText(pair.diff, options),
            "A  before: cuda:0, step 3 of 4, 0.000 s\n"
            "B  after: cuda:0, step 2 of 3, 0.000 s\n"
            "\n"
            "B holds 0.50 GiB more than A at the end: 1.50 GiB in A and 2.00 GiB in B (+33.3\n"
            "  % of A).\n"
            "  - B holds 1.00 GiB more in 1 stack and 512 MiB less in 1 stack (1 gone).\n"
            "  - The first event is the same. Step 1 is alloc of 1.00 GiB at m.py:1 f in A,\n"
            "    alloc of 2.00 GiB at m.py:7 f in B.\n"
            "  - A ran out of memory once, at step 3 (4.0 MiB requested, 1.0 MiB free in the\n"
            "    driver); B ran out of memory once, at step 2 (4.0 MiB requested, 1.0 MiB\n"
            "    free in the driver).\n"
            "  - A lasts 0.000 s, B 0.000 s.\n"
            "  - Tidegauge matched 0 stacks exactly, 1 with other line numbers.\n"
            "\n"
            "          A          B      B − A\n"
            "   1.50 GiB   2.00 GiB  +0.50 GiB  requested\n"
            "   1.50 GiB   2.00 GiB  +0.50 GiB  active\n"
            "  64.00 GiB  64.00 GiB          0  reserved\n"
            "\n"
            "  By stack: 2 of 2 stacks differ\n"
            "      B − A         A         B  blocks\n"
            "  +1.00 GiB  1.00 GiB  2.00 GiB       0  m.py:7 f (was :1) ‹ t.py:9 main\n"
            "   −512 MiB   512 MiB         –      −1  m.py:50 g ‹ t.py:9 main\n"
            "  ok: the changes add up to +0.50 GiB = 2.00 GiB (B) − 1.50 GiB (A)\n");
  options.top = 1;
  EXPECT_NE(
      diffText(pair.diff, options).find("  1 more row differs (512 MiB less); --top 2 shows it\n"),
      std::string::npos)
      << diffText(pair.diff, options);
}

TEST(DiffWords, ASideThatContradictsItselfIsNamed) {
  TraceBuilder without_final_state;
  without_final_state.segmentAlloc(kA, 2 * kMiB).alloc(kA, kMiB);
  auto saidOf = [](const Pair& pair) {
    std::string all;
    for (const std::string& said : diffParticulars(pair.diff)) all += said + "\n";
    return all;
  };
  Pair pair(holding(kMiB, 0), without_final_state.build());
  std::string said = saidOf(pair);
  EXPECT_NE(said.find("B contradicts itself: Active at the end"), std::string::npos) << said;
  EXPECT_EQ(said.find("A contradicts itself"), std::string::npos) << said;
}

TEST(DiffWords, WhatASideCouldNotSeeMarksItAndTheVerdict) {
  auto run = std::make_shared<model::RecordedRun>();
  run->passed_over = {{"calls", 2}};
  auto work = std::make_shared<model::RecordedWork>();
  work->run = run;
  model::Trace damaged = holding(kGiB, 0);
  damaged.work = work;
  Pair pair(holding(kMiB, 0), std::move(damaged));
  EXPECT_EQ(markOf(pair.diff.a), "");
  EXPECT_EQ(markOf(pair.diff.b), " (incomplete)");
  EXPECT_TRUE(diffVerdict(pair.diff).ends_with(" (incomplete).")) << diffVerdict(pair.diff);
  EXPECT_TRUE(diffParticulars(pair.diff).at(0).starts_with("B: Incomplete: "));
}

TEST(DiffWords, ASideWithoutEventsIsNotSaidToHaveHadMemoryLeft) {
  TraceBuilder state_only;
  state_only.finalSegment(kA, 2 * kMiB).block(2 * kMiB, model::BlockState::kActiveAllocated);
  Pair pair(state_only.build(), holding(kMiB, 0));
  std::string all;
  for (const std::string& said : diffParticulars(pair.diff)) all += said + "\n";
  EXPECT_NE(all.find("A recorded no events; B ran out of memory once"), std::string::npos) << all;
}

TEST(DiffText, KeepsToAnyWidth) {
  Pair pair(holding(kGiB, 512 * kMiB), holding(2 * kGiB, 0, 7));
  for (size_t columns : {20, 40, 71, 72, 100}) {
    DiffTextOptions options;
    options.columns = columns;
    options.name_a = options.name_b = "a-file-with-a-name-that-is-longer-than-any-page.pickle";
    std::string text = diffText(pair.diff, options);
    for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
      std::string line = text.substr(begin, text.find('\n', begin) - begin);
      EXPECT_LE(base::displayWidth(line), columns) << line;
    }
  }
}

// ---- limits -------------------------------------------------------------------------------------

std::string limited(const std::string& text, const Diff& diff) {
  auto limit = parseDiffLimit(text);
  if (!limit.ok()) return "unusable";
  return exceeded(limit.value(), diff).value_or("holds");
}

TEST(DiffLimits, AreExceededExactlyBeyondThem) {
  // f 100 → 101 MiB, g is gone: 100 MiB.
  Pair pair(holding(100 * kMiB, 100 * kMiB), holding(101 * kMiB, 0));
  EXPECT_EQ(limited("stack>1MiB", pair.diff), "holds");
  EXPECT_EQ(limited("stack>=1MiB", pair.diff),
            "the condition “stack>=1MiB” is true, because stack is 1.0 MiB, 0.5 % of A");
  EXPECT_EQ(limited("stack>0.5%", pair.diff), "holds");
  EXPECT_EQ(limited("stack>=0.5%", pair.diff),
            "the condition “stack>=0.5%” is true, because stack is 1.0 MiB, 0.5 % of A");
  EXPECT_EQ(limited("stack>1048575", pair.diff),
            "the condition “stack>1048575” is true, because stack is 1.0 MiB, 0.5 % of A");
  EXPECT_EQ(limited("growth>0", pair.diff), "holds") << "it shrank";
  EXPECT_EQ(limited("new>0", pair.diff), "holds");
  EXPECT_EQ(limited("gone>50%", pair.diff), "holds");
  EXPECT_EQ(limited("gone>49%", pair.diff),
            "the condition “gone>49%” is true, because gone is 100 MiB, 50.0 % of A");
  EXPECT_EQ(limited("change>100M", pair.diff),
            "the condition “change>100M” is true, because change is 101 MiB, 50.5 % of A");
  EXPECT_EQ(limited("reserved>0", pair.diff), "holds");
  EXPECT_EQ(limited(" stack < 1MiB ", pair.diff), "holds");
  EXPECT_EQ(limited("stack <= 1MiB", pair.diff),
            "the condition “stack <= 1MiB” is true, because stack is 1.0 MiB, 0.5 % of A");
  Pair from_nothing(holding(0, 0), holding(kMiB, 0));
  EXPECT_EQ(limited("growth>1%", from_nothing.diff),
            "the condition “growth>1%” is true, because growth is 1.0 MiB, A holds nothing");
  EXPECT_EQ(limited("new>0", from_nothing.diff),
            "the condition “new>0” is true, because new is 1.0 MiB, A holds nothing");
}

TEST(DiffLimits, OthersAreRefused) {
  Pair pair(holding(0, 0), holding(0, 0));
  for (const char* text :
       {"", "growth", "growth>", "growth=1%", "size>1", "growth>-1%", "growth>1x", "growth>%",
        "growth>nan%", "growth>inf", "growth>>1", "growth>1%%"}) {
    EXPECT_EQ(limited(text, pair.diff), "unusable") << text;
  }
}

// ---- JSON ---------------------------------------------------------------------------------------

void collectKeys(const json& value, const std::string& path, std::set<std::string>& keys) {
  if (value.is_array()) {
    for (const json& item : value) collectKeys(item, path + "[]", keys);
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      std::string at = path.empty() ? key : path + "." + key;
      keys.insert(at);
      collectKeys(item, at, keys);
    }
  }
}

// The keys of the tables below a heading of docs/formats/json-diff.md.
std::set<std::string> documentedKeys(const std::string& from, const std::string& to) {
  const char* source = std::getenv("TIDEGAUGE_SOURCE_DIR");
  std::ifstream page(std::string(source == nullptr ? "." : source) + "/docs/formats/json-diff.md");
  std::set<std::string> keys;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("# ") || line.starts_with("## ")) {
      inside = line == from || (inside && line != to);
    }
    if (inside && line.starts_with("| `")) keys.insert(line.substr(3, line.find('`', 3) - 3));
  }
  return keys;
}

TEST(DiffJson, KeysAreTheDocumentedOnes) {
  TraceBuilder later;  // the same all along: with a pause
  later.time(1000).segmentAlloc(kA, 64 * kGiB).time(5000);
  later.stack({"f@m.py:1", "main@t.py:9"}).alloc(kA, kMiB).oom(kMiB, 4 * kMiB);
  Pair timed(holding(kMiB, 0), later.build());
  std::set<std::string> keys;
  for (DiffBy by : {DiffBy::kStack, DiffBy::kSize}) {
    collectKeys(diffJson(timed.diff, diffTable(timed.diff, by), "a", "b"), "", keys);
  }
  EXPECT_EQ(keys, documentedKeys("## Two places", "## Ranks"));
}

TEST(DiffJson, KeysOfRanksAreTheDocumentedOnes) {
  AnalysedTrace a(holding(kMiB, kMiB)), b(holding(kMiB, 0)), c(holding(2 * kMiB, 0));
  std::vector<DiffSide> sides = {endOf(a), endOf(b), endOf(c)};
  std::set<std::string> keys;
  collectKeys(ranksJson(sides, analysis::ranksOf(sides), {"a", "b", "c"}), "", keys);
  EXPECT_EQ(keys, documentedKeys("## Ranks", ""));
}

TEST(DiffJson, BytesAreExact) {
  Pair pair(holding(kGiB, 512 * kMiB), holding(2 * kGiB, 0, 7));
  json diff = diffJson(pair.diff, diffTable(pair.diff, DiffBy::kStack), "a", "b");
  EXPECT_EQ(diff["kind"], "pair");
  EXPECT_EQ(diff["total"]["change_bytes"], 512 * kMiB);
  EXPECT_EQ(diff["total"]["adds_up"], true);
  EXPECT_EQ(diff["rows"][0]["match"], "moved");
  EXPECT_EQ(diff["rows"][0]["a_line"], 1);
  EXPECT_EQ(diff["rows"][0]["b_line"], 7);
  EXPECT_EQ(diff["rows"][1]["change"], "gone");
  EXPECT_EQ(diff["rows"][1]["change_bytes"], -512 * static_cast<int64_t>(kMiB));
  EXPECT_EQ(diff["rows"][1]["match"], json());
  EXPECT_EQ(diff["events"]["same_from_start"], 1);
}

// ---- ranks --------------------------------------------------------------------------------------

TEST(RanksText, NamesTheOddOneAndWhere) {
  AnalysedTrace a(holding(kGiB, kGiB)), b(holding(kGiB, kGiB)), c(holding(2 * kGiB, kGiB));
  std::vector<DiffSide> sides = {endOf(a), endOf(b), endOf(c)};
  EXPECT_EQ(ranksText(sides, analysis::ranksOf(sides), {"rank0", "rank1", "rank2"}, {}),
            "3 ranks at the end\n"
            "  rank2 is an outlier: it holds 3.00 GiB, the median is 2.00 GiB (+1.00 GiB). Its "
            "stacks differ from\n"
            "  the median by 1.00 GiB in total, those of the other ranks by 0.\n"
            "\n"
            "    active  difference to median   reserved  distance  rank\n"
            "  2.00 GiB                     0  64.00 GiB         0  rank0\n"
            "  2.00 GiB                     0  64.00 GiB         0  rank1\n"
            "  3.00 GiB             +1.00 GiB  64.00 GiB  1.00 GiB  rank2  ◄ outlier\n"
            "  2.00 GiB                        64.00 GiB         0  median\n"
            "\n"
            "  Where rank2 differs from the median\n"
            "  difference    median  this rank\n"
            "   +1.00 GiB  1.00 GiB   2.00 GiB  m.py:1 f ‹ t.py:9 main\n");
}

TEST(RanksText, IsHonestWhenNoneDoes) {
  AnalysedTrace a(holding(kGiB, 0)), b(holding(2 * kGiB, 0)), c(holding(4 * kGiB, 0));
  std::vector<DiffSide> sides = {endOf(a), endOf(b), endOf(c)};
  EXPECT_EQ(
      ranksVerdict(sides, analysis::ranksOf(sides), {"0", "1", "2"}),
      "No rank is an outlier. The median of active memory is 2.00 GiB. 2 is farthest from it: it "
      "holds 4.00 GiB, and its stacks differ from the median by 2.00 GiB in total.");
  sides = {endOf(a), endOf(a), endOf(a)};
  EXPECT_EQ(ranksVerdict(sides, analysis::ranksOf(sides), {"0", "1", "2"}),
            "All ranks are equal: each holds 1.00 GiB, with the same bytes in every stack.");
}

}  // namespace
}  // namespace tidegauge::report
