#include "model/launch_arguments.h"

#include <gtest/gtest.h>

#include <vector>

namespace tidegauge::model {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(LaunchArguments, AreNumbersOfTheirSizes) {
  Bytes bytes = {0xff, 0x34, 0x12, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x80};
  EXPECT_EQ(argumentsText(bytes, 4, "0:1 2:2 4:4 8:8"), "0xff 0x1234 0x1 0x8000000000000001");
}

TEST(LaunchArguments, OfStructsAreTheirBytes) {
  Bytes whole = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x2a, 0, 0, 0};
  EXPECT_EQ(argumentsText(whole, 2, "0:12 12:4"), "x'0102030405060708090a0b0c' 0x2a");
  Bytes words = {1, 2, 3, 4, 5, 6, 7, 8, 0x2a, 0, 0, 0};
  EXPECT_EQ(argumentsText(words, 2, "0:12 12:4"), "0x807060504030201 0x2a");
}

TEST(LaunchArguments, MayBeFewerThanTheKernelHas) {
  EXPECT_EQ(argumentsText(Bytes{1, 0, 0, 0}, 1, "0:4 8:8"), "0x1");
  EXPECT_EQ(argumentsText({}, 0, ""), "");
}

TEST(LaunchArguments, WithoutKnownParametersAreWords) {
  Bytes bytes = {1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(argumentsText(bytes, kUnknownParameters, ""), "0x1 0x2");
  EXPECT_EQ(argumentsText(bytes, 2, "not a layout"), "0x1 0x2");
  EXPECT_EQ(argumentsText(bytes, 1, "0:18446744073709551615"),
            "x'01000000000000000200000000000000'")
      << "no more than there is";
}

}  // namespace
}  // namespace tidegauge::model
