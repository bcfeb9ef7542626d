#include "wss/pages/frames.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "wss/measure/grouping.h"
#include "wss/pages/page_sums.h"
#include "wss/words/several_text.h"

namespace tidegauge::wss {
namespace {

TEST(OnceOf, AsDrawn) {
  std::vector<Frame> a{frameOf(7, true), frameOf(8, false), frameOf(9, false)},
      b{frameOf(10, false), frameOf(8, true), frameOf(9, false)};
  Once once = onceOf({a, b});
  EXPECT_EQ(once.rss, 4 * kPage);
  EXPECT_EQ(once.referenced, 2 * kPage);
  EXPECT_EQ(onceOf({}).rss, 0U);
}

RC_GTEST_PROP(OnceOf, IsAsAMapOfPages, ()) {
  auto lists = *rc::gen::container<std::vector<std::vector<Frame>>>(
      rc::gen::container<std::vector<Frame>>(rc::gen::inRange<Frame>(0, 60)));
  std::map<uint64_t, bool> pages;
  std::vector<std::span<const Frame>> spans;
  for (const auto& list : lists) {
    spans.emplace_back(list);
    for (Frame frame : list) pages[frame / 2] |= frame % 2 == 1;
  }
  uint64_t touched = 0;
  for (const auto& [page, is_touched] : pages) touched += is_touched;
  Once once = onceOf(spans);
  RC_ASSERT(once.rss == pages.size() * kPage);
  RC_ASSERT(once.referenced == touched * kPage);
}

TEST(AddFrames, OfPagesAndOfLargeOnes) {
  std::vector<__u64> entries(PAGE_TABLE_ENTRIES);
  Entries all(entries.data(), entries.size());
  std::vector<Frame> frames;
  entries[3] = 0x5000 | kEntryPresent | kEntryAccessed;
  entries[4] = 0x6000 | kEntryAccessed;  // not there
  // Hidden by NUMA balancing: its place is written inverted.
  entries[5] = (~uint64_t{0x7000} & 0x000ffffffffff000) | kEntryHidden;
  addFrames(frames, PAGE_TABLE_OF_PAGES, all, 0, PAGE_TABLE_ENTRIES);
  EXPECT_EQ(frames, (std::vector<Frame>{frameOf(5, true), frameOf(7, false)}));
  frames.clear();
  entries[0] = 0x40001000 | kEntryPresent;  // bit 12 of a large page is no part of its place
  addFrames(frames, PAGE_TABLE_HUGE, all, 0, PAGE_TABLE_ENTRIES);
  ASSERT_EQ(frames.size(), 512U);
  EXPECT_EQ(frames.front(), frameOf(0x40000, false));
  EXPECT_EQ(frames.back(), frameOf(0x401ff, false));
  frames.clear();
  addFrames(frames, PAGE_TABLE_HUGE, all, 2, 4);  // a mapping of two of its pages
  EXPECT_EQ(frames, (std::vector<Frame>{frameOf(0x40002, false), frameOf(0x40003, false)}));
}

TEST(ByFrame, IsTouchedIfAnybodyTouchedIt) {
  std::vector<Frame> a{frameOf(1025, true), frameOf(3, false)},
      b{frameOf(3, true), frameOf(4, false)};
  std::vector<PageBits> tables = byFrame({a, b});
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].table, 0U);
  EXPECT_EQ(tables[0].there[0], 0b11000U);
  EXPECT_EQ(tables[0].touched[0], 0b01000U);
  EXPECT_EQ(tables[1].table, 1024 * kPage);
  EXPECT_EQ(tables[1].touched[0], 0b10U);
}

TEST(GroupsOfAll, CountASharedFileOnce) {
  Row one, other;
  one.uses = {{{.path = "/lib/libc.so"}, {}}, {{.path = "[heap]"}, {}}};
  one.uses[0].mapping.kind = MappingKind::kFile;
  other.uses = one.uses;
  auto set = [](MappingSums& sums, uint64_t pages, uint64_t touched) {
    sums.rss = pages * kPage, sums.referenced = touched * kPage;
  };
  set(one.uses[0].sums, 2, 1), set(one.uses[1].sums, 1, 0);
  set(other.uses[0].sums, 2, 1), set(other.uses[1].sums, 1, 1);
  one.frames = {frameOf(7, true), frameOf(8, false), frameOf(20, false)};
  other.frames = {frameOf(7, true), frameOf(9, false), frameOf(21, true)};
  auto groups = groupsOfAll({&one, &other}, Grouping::kFile, true);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].name, "/lib/libc.so");
  EXPECT_EQ(groups[0].mappings, 2U);
  EXPECT_EQ(groups[0].sums.rss, 3 * kPage);
  EXPECT_EQ(groups[0].sums.referenced, kPage);
  EXPECT_EQ(groups[1].sums.rss, 2 * kPage);
  auto added = groupsOfAll({&one, &other}, Grouping::kFile, false);
  EXPECT_EQ(added[0].sums.rss, 4 * kPage);
}

Outcome outcome(uint64_t rss, uint64_t referenced) {
  Outcome one{Row{}, std::nullopt};
  one.row->sums.rss = rss << 20;
  one.row->sums.referenced = referenced << 20;
  return one;
}

TEST(SeveralText, MostFirstAndTheRestInOne) {
  std::vector<Outcome> outcomes{outcome(100, 1), outcome(200, 30), outcome(50, 2), {}};
  outcomes[3].gone = base::Error{base::ErrorKind::kUnreadable, "process 4 (x) ended", {}, {}};
  std::vector<Member> members;
  for (size_t i = 0; i < outcomes.size(); ++i)
    members.push_back(
        {static_cast<pid_t>(i + 1), i == 1 ? "a very long \x1b[31m name" : "x", &outcomes[i]});
  std::string text = severalText(members, Once{uint64_t{210} << 20, uint64_t{31} << 20}, 1, 80);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("  2 a very"), std::string::npos);
  EXPECT_NE(text.find("2 more                150.00      3.00   2.0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("all, shared once      210.00     31.00  14.8\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Not measured: process 4 (x) ended.\n"), std::string::npos);
  std::string added = severalText(members, std::nullopt, 20, 80);
  EXPECT_NE(added.find("all added up          350.00     33.00"), std::string::npos) << added;
  nlohmann::json json = severalJson(members, std::nullopt, {}, 1.5, false);
  EXPECT_TRUE(json["all"].is_null());
  EXPECT_EQ(json["processes"][3]["gone"], "process 4 (x) ended");
  EXPECT_EQ(json["processes"][1]["bytes"]["referenced"], 30 << 20);
}

}  // namespace
}  // namespace tidegauge::wss
