#include "base/format.h"

#include <gtest/gtest.h>

#include "support/bytes.h"

namespace tidegauge::base {
namespace {

constexpr uint64_t kTiB = kGiB << 10;

TEST(Format, BytesChangeUnitAtPowersOf1024) {
  EXPECT_EQ(humanBytes(0), "0 B");
  EXPECT_EQ(humanBytes(1023), "1,023 B");
  EXPECT_EQ(humanBytes(kKiB), "1.0 KiB");
  EXPECT_EQ(humanBytes(96'256), "94.0 KiB");
  EXPECT_EQ(humanBytes(kMiB), "1.0 MiB");
  EXPECT_EQ(humanBytes(kGiB), "1.00 GiB");
  EXPECT_EQ(humanBytes(37'075'550'208), "34.53 GiB");
  EXPECT_EQ(humanBytes(kTiB), "1.00 TiB");
  EXPECT_EQ(humanBytes(5000 * kTiB), "5,000.00 TiB");
  EXPECT_EQ(humanBytes(UINT64_MAX), "16,777,216.00 TiB");
}

TEST(Format, OneDecimalBelowAHundred) {
  EXPECT_EQ(humanBytes(99 * kMiB + 9 * kMiB / 10), "99.9 MiB");
  EXPECT_EQ(humanBytes(99 * kMiB + 96 * kMiB / 100), "100 MiB");  // never "100.0"
  EXPECT_EQ(humanBytes(100 * kKiB), "100 KiB");
}

TEST(Format, ComparedNumbersShareAUnit) {
  EXPECT_EQ(humanBytes(4'202'692'608, ByteUnit::kMiB), "4,008 MiB");
  EXPECT_EQ(humanBytes(0, ByteUnit::kGiB), "0.00 GiB");
  EXPECT_EQ(unitFor(kMiB - 1), ByteUnit::kKiB);
  EXPECT_EQ(unitFor(UINT64_MAX), ByteUnit::kTiB);
}

TEST(Format, DeltasHaveASign) {
  EXPECT_EQ(humanDelta(0), "0");
  EXPECT_EQ(humanDelta(512), "+512 B");
  EXPECT_EQ(humanDelta(-static_cast<int64_t>(kMiB)), "−1.0 MiB");
  EXPECT_EQ(humanDelta(INT64_MIN), "−8,388,608.00 TiB");
}

TEST(Format, Counts) {
  EXPECT_EQ(withCommas(0), "0");
  EXPECT_EQ(withCommas(999), "999");
  EXPECT_EQ(withCommas(1000), "1,000");
  EXPECT_EQ(withCommas(UINT64_MAX), "18,446,744,073,709,551,615");
  EXPECT_EQ(counted(0, "block"), "0 blocks");
  EXPECT_EQ(counted(1, "block"), "1 block");
  EXPECT_EQ(counted(2310, "block"), "2,310 blocks");
}

TEST(Format, AddressesAsPyTorchNamesThem) {
  EXPECT_EQ(hexAddress(0x7f0586000000), "0x7f0586000000");
  EXPECT_EQ(addressId(0x7f0586000000, 1), "b7f0586000000_1");
  EXPECT_EQ(addressId(UINT64_MAX, 0, 's'), "sffffffffffffffff_0");
}

TEST(Format, TimesAreOfUtc) {
  EXPECT_EQ(utcTime(0), "1970-01-01 00:00:00 UTC");
  EXPECT_EQ(utcTime(1'795'360'992'999'999'999), "2026-11-22 15:23:12 UTC");
}

}  // namespace
}  // namespace tidegauge::base
