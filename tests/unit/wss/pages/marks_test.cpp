#include "wss/pages/marks.h"

#include <gtest/gtest.h>

namespace tidegauge::wss {
namespace {

std::vector<Mark> ordered(std::vector<std::pair<uint64_t, uint64_t>> ranges) {
  std::vector<Mark> marks;
  for (auto [start, end] : ranges) marks.push_back({start, end, MappingKind::kPinned, "p"});
  return orderedMarks(std::move(marks));
}

std::vector<std::pair<uint64_t, uint64_t>> rangesOf(const std::vector<Mark>& marks) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const Mark& mark : marks) ranges.emplace_back(mark.start, mark.end);
  return ranges;
}

using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

TEST(Marks, AreWholePagesInOrder) {
  EXPECT_EQ(rangesOf(ordered({{0x5000, 0x5800}, {0x1800, 0x2100}})),
            (Ranges{{0x1000, 0x3000}, {0x5000, 0x6000}}));
  // Two buffers in a page, one inside another, one of nothing, one at the end of all addresses.
  EXPECT_EQ(rangesOf(ordered({{0x1000, 0x1800}, {0x1800, 0x2800}})),
            (Ranges{{0x1000, 0x2000}, {0x2000, 0x3000}}));
  EXPECT_EQ(rangesOf(ordered({{0x1000, 0x9000}, {0x2000, 0x3000}, {0x4000, 0x4000}})),
            (Ranges{{0x1000, 0x9000}}));
  EXPECT_EQ(ordered({{UINT64_MAX - 5, UINT64_MAX}}).size(), 0U);
}

// Touches of reserved huge pages are unknown, marked or not.
TEST(Marks, LeaveWhatHugePagesAre) {
  std::vector<MappingUse> uses(1);
  uses[0].mapping.start = 0x1000;
  uses[0].mapping.end = 0x9000;
  uses[0].mapping.kind = MappingKind::kHugetlb;
  uint64_t unmapped = 0;
  cutAt(uses, ordered({{0x3000, 0x5000}}), unmapped);
  ASSERT_EQ(uses.size(), 3U);
  for (const MappingUse& use : uses) EXPECT_EQ(use.mapping.kind, MappingKind::kHugetlb);
}

struct Part {
  uint64_t start, end;
  MappingKind kind;
  bool operator==(const Part&) const = default;
};

std::vector<Part> cut(Ranges mapped, Ranges marked, uint64_t& unmapped) {
  std::vector<MappingUse> uses;
  for (auto [start, end] : mapped) {
    uses.emplace_back();
    uses.back().mapping.start = start;
    uses.back().mapping.end = end;
    uses.back().mapping.writable = true;
  }
  unmapped = 0;
  cutAt(uses, ordered(marked), unmapped);
  std::vector<Part> parts;
  for (const MappingUse& use : uses) {
    EXPECT_TRUE(use.mapping.writable);
    parts.push_back({use.mapping.start, use.mapping.end, use.mapping.kind});
  }
  return parts;
}

TEST(Marks, CutMappings) {
  constexpr auto kOwn = MappingKind::kAnonymous, kPinned = MappingKind::kPinned;
  uint64_t unmapped = 0;
  EXPECT_EQ(cut({{0x1000, 0x9000}}, {{0x3000, 0x4000}, {0x5000, 0x6000}}, unmapped),
            (std::vector<Part>{{0x1000, 0x3000, kOwn},
                               {0x3000, 0x4000, kPinned},
                               {0x4000, 0x5000, kOwn},
                               {0x5000, 0x6000, kPinned},
                               {0x6000, 0x9000, kOwn}}));
  EXPECT_EQ(unmapped, 0U);
  // Over several mappings and what lies between, and a whole one.
  EXPECT_EQ(cut({{0x1000, 0x3000}, {0x4000, 0x6000}, {0x8000, 0x9000}},
                {{0x2000, 0x5000}, {0x8000, 0x9000}}, unmapped),
            (std::vector<Part>{{0x1000, 0x2000, kOwn},
                               {0x2000, 0x3000, kPinned},
                               {0x4000, 0x5000, kPinned},
                               {0x5000, 0x6000, kOwn},
                               {0x8000, 0x9000, kPinned}}));
  EXPECT_EQ(unmapped, 0x1000U);
  EXPECT_EQ(cut({{0x1000, 0x2000}}, {}, unmapped), (std::vector<Part>{{0x1000, 0x2000, kOwn}}));
  EXPECT_EQ(cut({}, {{0x1000, 0x2000}}, unmapped).size(), 0U);
  EXPECT_EQ(unmapped, 0x1000U);
}

}  // namespace
}  // namespace tidegauge::wss
