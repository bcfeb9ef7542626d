#include "base/base64.h"

#include <array>
#include <cstdint>

namespace tidegauge::base {
namespace {

constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 0xff;
constexpr std::array<uint8_t, 256> kDigitValues = [] {
  std::array<uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (size_t i = 0; i < kBase64Digits.size(); ++i) {
    values[static_cast<uint8_t>(kBase64Digits[i])] = static_cast<uint8_t>(i);
  }
  return values;
}();

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve(base64Bytes(bytes.size()));
  auto at = [&](size_t i) {
    return i < bytes.size() ? uint32_t{static_cast<unsigned char>(bytes[i])} : 0;
  };
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = at(i) << 16 | at(i + 1) << 8 | at(i + 2);
    text += kBase64Digits[three >> 18];
    text += kBase64Digits[three >> 12 & 63];
    text += i + 1 < bytes.size() ? kBase64Digits[three >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? kBase64Digits[three & 63] : '=';
  }
  return text;
}

Result<ByteBuffer> decodedBase64(std::string_view text) {
  ByteBuffer output;
  output.reserve(maxDecodedBytes(text.size()));
  uint8_t* to = output.data();
  uint32_t bits = 0;
  int bit_count = 0;
  for (const char& letter : text) {
    uint8_t digit = kDigitValues[static_cast<uint8_t>(letter)];
    if (digit == kNoDigit) {
      if (letter == '=') break;
      if (letter == ' ' || letter == '\n' || letter == '\r' || letter == '\t') continue;
      return Error{ErrorKind::kUnreadable,
                   "the base64 text is damaged",
                   static_cast<uint64_t>(&letter - text.data()),
                   {}};
    }
    bits = bits << 6 | digit;
    bit_count += 6;
    if (bit_count >= 8) {
      bit_count -= 8;
      *to++ = static_cast<uint8_t>(bits >> bit_count);
    }
  }
  output.setSize(static_cast<size_t>(to - output.data()));
  return output;
}

}  // namespace tidegauge::base
