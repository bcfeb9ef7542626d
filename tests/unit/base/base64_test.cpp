#include "base/base64.h"

#include <gtest/gtest.h>

namespace tidegauge::base {
namespace {

std::string decoded(std::string_view text) {
  Result<ByteBuffer> buffer = decodedBase64(text);
  if (!buffer.ok()) return "error";
  EXPECT_LE(buffer.value().size(), maxDecodedBytes(text.size()));
  return {reinterpret_cast<const char*>(buffer.value().data()), buffer.value().size()};
}

TEST(Base64, EveryLength) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

TEST(Base64, ComesBackAsItWas) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(base64(bytes).size(), base64Bytes(bytes.size()));
    EXPECT_EQ(decoded(base64(bytes)), bytes) << i;
    bytes += static_cast<char>(i * 7);
  }
}

TEST(Base64, WhatIsNoDigit) {
  EXPECT_EQ(decoded(" Zm\r\n9v\tZg== rest"), "foof") << "spaces are skipped, '=' ends it";
  EXPECT_EQ(decoded("Zm8"), "fo") << "the padding may lack";
  EXPECT_EQ(decoded("Z"), "") << "six bits are no byte";
  Result<ByteBuffer> damaged = decodedBase64("Zm9v%m9v");
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().kind, ErrorKind::kUnreadable);
  EXPECT_EQ(damaged.error().byte_offset, 4U);
  EXPECT_FALSE(decodedBase64("\xff").ok());
}

}  // namespace
}  // namespace tidegauge::base
