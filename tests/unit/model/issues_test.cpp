#include "model/issues.h"

#include <gtest/gtest.h>

#include <set>

namespace tidegauge::model {
namespace {

TEST(Issues, EqualOnesAreCountedTogether) {
  Issues issues;
  issues.add({.kind = IssueKind::kUnknownKey, .first_offset = 90, .detail = "key 'a'"});
  issues.add({.kind = IssueKind::kUnknownKey,
              .count = 4,
              .first_offset = 70,
              .bytes = 8,
              .detail = "key 'a'"});
  issues.add({.kind = IssueKind::kUnknownKey, .detail = "key 'b'"});
  issues.add({.kind = IssueKind::kUnknownKey, .device = 1, .detail = "key 'a'"});
  issues.add({.kind = IssueKind::kMissingKey, .detail = "key 'a'"});
  ASSERT_EQ(issues.all().size(), 4U);
  EXPECT_EQ(issues.all()[0].count, 5U);
  EXPECT_EQ(issues.all()[0].bytes, 8U);
  EXPECT_EQ(issues.all()[0].first_offset, 70U);
  EXPECT_EQ(issues.count(IssueKind::kUnknownKey), 7U);
  EXPECT_EQ(issues.count(IssueKind::kTrailingBytes), 0U);
}

TEST(Issues, BeyondAHundredOfAKindTheRestIsCountedTogether) {
  Issues issues;
  for (int i = 0; i < 100000; ++i) {
    issues.add({.kind = IssueKind::kUnknownKey,
                .device = i % 7,
                .first_step = static_cast<uint64_t>(i),
                .bytes = 1,
                .detail = "key " + std::to_string(i)});
  }
  issues.add({.kind = IssueKind::kUnknownKey, .device = 0, .detail = "key 0"});  // still known
  issues.add({.kind = IssueKind::kMissingKey, .detail = "another kind has its own hundred"});
  ASSERT_EQ(issues.all().size(), Issues::kMaxOfAKind + 2);
  EXPECT_EQ(issues.count(IssueKind::kUnknownKey), 100001U);  // nothing is dropped
  EXPECT_EQ(issues.all()[0].count, 2U);
  const Issue& rest = issues.all()[Issues::kMaxOfAKind];
  EXPECT_EQ(rest.detail, "…");
  EXPECT_EQ(rest.device, Issue::kNoDevice);
  EXPECT_EQ(rest.count, 100000 - Issues::kMaxOfAKind);
  EXPECT_EQ(rest.bytes, rest.count);
  EXPECT_EQ(rest.first_step, Issues::kMaxOfAKind);
}

TEST(Issues, SumsStopInsteadOfWrappingAround) {
  Issues issues;
  issues.add({.kind = IssueKind::kBadValue, .count = UINT64_MAX, .bytes = UINT64_MAX - 1});
  issues.add({.kind = IssueKind::kBadValue, .count = 9, .bytes = 9});
  issues.add({.kind = IssueKind::kBadValue, .device = 3});
  EXPECT_EQ(issues.all()[0].count, UINT64_MAX);
  EXPECT_EQ(issues.all()[0].bytes, UINT64_MAX);
  EXPECT_EQ(issues.count(IssueKind::kBadValue), UINT64_MAX);
}

TEST(Issues, EveryKindHasItsOwnNameAndASentence) {
  std::set<std::string_view> names;
  for (size_t kind = 0; kind < kIssueKinds; ++kind) {
    names.insert(name(static_cast<IssueKind>(kind)));
    std::string_view text = meaning(static_cast<IssueKind>(kind));
    EXPECT_TRUE(text.ends_with('.')) << text;
    EXPECT_EQ(text.find("  "), std::string_view::npos) << text;
  }
  EXPECT_EQ(names.size(), kIssueKinds);
}

}  // namespace
}  // namespace tidegauge::model
