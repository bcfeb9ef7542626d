#include "report/words/peak_words.h"

#include <gtest/gtest.h>

#include "support/bytes.h"

namespace tidegauge::report {
namespace {

TEST(PeakWordsTest, ABetterPeakStandsBesideTheOneBefore) {
  EXPECT_EQ(peakReservedWords(900 * kMiB, 3 * kGiB, false),
            "peak reserved memory is 900 MiB instead of 3.00 GiB");
  EXPECT_EQ(peakReservedWords(900 * kMiB, 3 * kGiB, true),
            "peak reserved memory is 900 MiB or more instead of 3.00 GiB");
}

TEST(PeakWordsTest, AnEqualPeakIsNotComparedWithItself) {
  EXPECT_EQ(peakReservedWords(3 * kGiB, 3 * kGiB, false),
            "peak reserved memory is 3.00 GiB, as before");
  EXPECT_EQ(peakReservedWords(3 * kGiB, 3 * kGiB, true),
            "peak reserved memory is at least the 3.00 GiB of before");
}

TEST(PeakWordsTest, SizesThatWouldReadTheSameGetAFinerUnit) {
  EXPECT_EQ(peakReservedWords(2046 * kMiB, 2048 * kMiB, false),
            "peak reserved memory is 2,046 MiB instead of 2,048 MiB");
  EXPECT_EQ(peakReservedWords(2048 * kMiB - 512, 2048 * kMiB, false),
            "peak reserved memory is 2,147,483,136 B instead of 2,147,483,648 B");
}

}  // namespace
}  // namespace tidegauge::report
