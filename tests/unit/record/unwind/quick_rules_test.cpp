// A packed rule is unpacked unchanged, and a rule that does not fit is refused.
#include "record/unwind/quick_rules.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tidegauge::record {
namespace {

TEST(QuickRules, PackedRulesComeOutAgain) {
  for (int32_t cfa_offset : {0, 8, 16, 4096, -8, (1 << 23) - 1, -(1 << 23)})
    for (int32_t bp_offset : {0, -16, -56, 8, (1 << 23) - 1, -(1 << 23)})
      for (int cfa = UNWIND_END; cfa <= UNWIND_SIGNAL; ++cfa)
        for (int bp = UNWIND_BP_SAME; bp <= UNWIND_BP_GUESSED; ++bp) {
          unwind_rule rule{cfa_offset, bp_offset, 0, static_cast<__u8>(cfa), static_cast<__u8>(bp)};
          uint64_t packed = 0;
          ASSERT_TRUE(packRule(rule, packed));
          unwind_rule again{};
          unpackRule(packed, &again);
          EXPECT_EQ(std::memcmp(&rule, &again, sizeof(rule)), 0)
              << cfa_offset << " " << bp_offset << " " << cfa << " " << bp;
        }
}

TEST(QuickRules, WhatDoesNotFitIsRefused) {
  uint64_t packed = 0;
  EXPECT_FALSE(packRule({1 << 23, 0, 0, UNWIND_SP, UNWIND_BP_SAME}, packed));
  EXPECT_FALSE(packRule({8, -(1 << 23) - 1, 0, UNWIND_SP, UNWIND_BP_AT_CFA}, packed));
  EXPECT_FALSE(packRule({8, 0, 8, UNWIND_AT_SP, UNWIND_BP_SAME}, packed));
}

TEST(QuickRules, WithoutAMapNothingHappens) {
  QuickRules quick(-1);
  quick.set({0x401000, 1, 0}, {8, 0, 0, UNWIND_SP, UNWIND_BP_SAME});
  quick.drop({0x401000, 1, 0});
}

}  // namespace
}  // namespace tidegauge::record
