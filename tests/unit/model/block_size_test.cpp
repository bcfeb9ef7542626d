#include "model/block_size.h"

#include <gtest/gtest.h>

#include "support/bytes.h"

namespace tidegauge::model {
namespace {

AllocatorSettings divisions(uint32_t all) {
  AllocatorSettings settings;
  settings.roundup_power2_divisions.fill(all);
  return settings;
}

TEST(BlockSize, RoundsUpTo512) {
  AllocatorSettings plain;
  EXPECT_EQ(roundedBytes(0, plain), 512U);
  EXPECT_EQ(roundedBytes(1, plain), 512U);
  EXPECT_EQ(roundedBytes(511, plain), 512U);
  EXPECT_EQ(roundedBytes(512, plain), 512U);
  EXPECT_EQ(roundedBytes(513, plain), 1024U);
  EXPECT_EQ(roundedBytes(3 * kMiB, plain), 3 * kMiB);
  EXPECT_EQ(roundedBytes(3 * kMiB + 1, plain), 3 * kMiB + 512);
}

TEST(BlockSize, OneDivisionIsNone) {
  EXPECT_EQ(roundedBytes(5 * kMiB + 1, divisions(1)), 5 * kMiB + 512);
}

TEST(BlockSize, DivisionsCutThePowerOfTwo) {
  // Between 1,024 and 2,048 MiB with 4 divisions: 1,280, 1,536, 1,792.
  AllocatorSettings four = divisions(4);
  EXPECT_EQ(roundedBytes(1024 * kMiB, four), 1024 * kMiB);
  EXPECT_EQ(roundedBytes(1024 * kMiB + 1, four), 1280 * kMiB);
  EXPECT_EQ(roundedBytes(1280 * kMiB, four), 1280 * kMiB);
  EXPECT_EQ(roundedBytes(1281 * kMiB, four), 1536 * kMiB);
  EXPECT_EQ(roundedBytes(1793 * kMiB, four), 2048 * kMiB);
  EXPECT_EQ(roundedBytes(5 * kMiB, four), 5 * kMiB);
}

TEST(BlockSize, DivisionsWaitForTheirLeastSize) {
  // Only above 512 · divisions; 2,048 itself is a multiple of 512 and stays.
  AllocatorSettings four = divisions(4);
  EXPECT_EQ(roundedBytes(2047, four), 2048U);
  EXPECT_EQ(roundedBytes(2048, four), 2048U);
  EXPECT_EQ(roundedBytes(2049, four), 2560U);
  EXPECT_EQ(roundedBytes(1025, four), 1536U);  // below: by 512
}

TEST(BlockSize, ClassesArePowersOfTwoFromOneMebibyte) {
  for (size_t index = 0; index < 16; ++index) {
    AllocatorSettings settings;
    settings.roundup_power2_divisions[index] = 2;
    uint64_t begin = kMiB << index;
    auto rounds = [&](uint64_t bytes) { return roundedBytes(bytes, settings) > bytes + 512; };
    EXPECT_TRUE(rounds(begin + begin / 4)) << index;
    if (index > 0) {
      EXPECT_FALSE(rounds(begin / 2 + begin / 8)) << index;
    }
    // Class 0 includes everything below, class 15 everything above.
    EXPECT_EQ(rounds(100 * 1024), index == 0) << index;
    EXPECT_EQ(rounds(100 * kGiB), index == 15) << index;
  }
}

TEST(BlockSize, DivisionsThatAreNotAPowerOfTwoBecomeTheNextLower) {
  EXPECT_EQ(roundedBytes(1025 * kMiB, divisions(5)), 1280 * kMiB);
}

TEST(BlockSize, ImpossibleRequestsDoNotWrapAround) {
  for (uint32_t d : {0U, 1U, 2U, 64U, UINT32_MAX}) {
    for (uint64_t bytes : {uint64_t{1} << 44, uint64_t{1} << 60, (uint64_t{1} << 60) + 1,
                           uint64_t{1} << 63, UINT64_MAX - 511, UINT64_MAX}) {
      EXPECT_GE(roundedBytes(bytes, divisions(d)), bytes) << bytes << " / " << d;
    }
  }
}

TEST(BlockSize, NeverSmallerThanTheRequestAndAlwaysWholeBlocks) {
  for (uint32_t d : {0U, 1U, 2U, 4U, 8U, 16U, 32U, 64U}) {
    for (uint64_t bytes = 1; bytes < 40 * kGiB; bytes = bytes * 9 / 8 + 1) {
      uint64_t rounded = roundedBytes(bytes, divisions(d));
      ASSERT_GE(rounded, bytes);
      ASSERT_EQ(rounded % 512, 0U);
      ASSERT_EQ(roundedBytes(rounded, divisions(d)), rounded) << bytes << " / " << d;
    }
  }
}

}  // namespace
}  // namespace tidegauge::model
