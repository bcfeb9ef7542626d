#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace tidegauge::base {
namespace {

// Length of the valid character at the start of `text`; 0 if there is none.
size_t characterLength(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  auto continues = [&](size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
  uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first < 0xf0) {
    if (!continues(1) || !continues(2)) return 0;
    bool overlong = first == 0xe0 && byte(1) < 0xa0;
    bool surrogate = first == 0xed && byte(1) >= 0xa0;
    return overlong || surrogate ? 0 : 3;
  }
  if (first >= 0xf0 && first < 0xf5) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    bool overlong = first == 0xf0 && byte(1) < 0x90;
    bool beyond = first == 0xf4 && byte(1) >= 0x90;
    return overlong || beyond ? 0 : 4;
  }
  return 0;
}

// Number of ASCII bytes at the start of `text`, in steps of eight.
size_t asciiPrefix(std::string_view text) {
  size_t at = 0;
  for (uint64_t word = 0; at + 8 <= text.size(); at += 8) {
    std::memcpy(&word, text.data() + at, 8);
    if ((word & 0x8080808080808080u) != 0) break;
  }
  return at;
}

}  // namespace

bool isUtf8(std::string_view text) {
  for (text.remove_prefix(asciiPrefix(text)); !text.empty();) {
    size_t length = characterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string repairedUtf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  while (!text.empty()) {
    size_t length = characterLength(text);
    if (length == 0) {
      appendUtf8(repaired, 0xfffd);
      length = 1;
    } else {
      repaired.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return repaired;
}

void appendUtf8(std::string& text, uint32_t code_point) {
  auto put = [&](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xc0 | code_point >> 6);
    put(0x80 | (code_point & 0x3f));
  } else if (code_point < 0x10000) {
    put(0xe0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3f));
    put(0x80 | (code_point & 0x3f));
  } else {
    put(0xf0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3f));
    put(0x80 | (code_point >> 6 & 0x3f));
    put(0x80 | (code_point & 0x3f));
  }
}

}  // namespace tidegauge::base
