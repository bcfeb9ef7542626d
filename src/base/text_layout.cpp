#include "base/text_layout.h"

#include <cstdint>

namespace tidegauge::base {
namespace {

// Length of the UTF-8 sequence at text[i] and its code point; a bad byte is one character.
size_t nextCharacter(std::string_view text, size_t i, uint32_t* code_point) {
  auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  uint8_t lead = byte(i);
  size_t length = lead < 0x80         ? 1
                  : (lead >> 5) == 6  ? 2
                  : (lead >> 4) == 14 ? 3
                  : (lead >> 3) == 30 ? 4
                                      : 1;
  if (i + length > text.size()) length = 1;
  *code_point = length == 1 ? lead : static_cast<uint32_t>(lead & (0x7f >> length));
  for (size_t k = 1; k < length; ++k) *code_point = *code_point << 6 | (byte(i + k) & 0x3f);
  return length;
}

size_t widthOf(uint32_t code_point) {
  bool combining = code_point >= 0x300 && code_point <= 0x36f;
  bool wide = (code_point >= 0x1100 && code_point <= 0x115f) ||
              (code_point >= 0x2e80 && code_point <= 0xa4cf) ||
              (code_point >= 0xac00 && code_point <= 0xd7a3) ||
              (code_point >= 0xf900 && code_point <= 0xfaff) ||
              (code_point >= 0xff00 && code_point <= 0xff60) ||
              (code_point >= 0x1f300 && code_point <= 0x1faff);
  return combining ? 0 : wide ? 2 : 1;
}

}  // namespace

size_t displayWidth(std::string_view text) {
  size_t width = 0;
  uint32_t code_point = 0;
  for (size_t i = 0; i < text.size(); i += nextCharacter(text, i, &code_point)) {
    uint32_t here = 0;
    nextCharacter(text, i, &here);
    width += widthOf(here);
  }
  return width;
}

std::string cutTo(std::string_view text, size_t columns) {
  if (displayWidth(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  size_t width = 0;
  size_t i = 0;
  while (i < text.size()) {
    uint32_t code_point = 0;
    size_t length = nextCharacter(text, i, &code_point);
    if (width + widthOf(code_point) > columns - 1) break;
    width += widthOf(code_point);
    i += length;
  }
  return std::string(text.substr(0, i)) + "…";
}

std::string padLeft(std::string_view text, size_t columns) {
  size_t width = displayWidth(text);
  return std::string(width < columns ? columns - width : 0, ' ') + std::string(text);
}

std::string padRight(std::string_view text, size_t columns) {
  size_t width = displayWidth(text);
  return std::string(text) + std::string(width < columns ? columns - width : 0, ' ');
}

std::string wrapped(std::string_view text, size_t columns, size_t indent, size_t hanging) {
  std::string out;
  std::string line(indent, ' ');
  bool empty = true;
  size_t i = 0;
  while (i < text.size()) {
    size_t end = text.find(' ', i);
    if (end == std::string_view::npos) end = text.size();
    std::string word = cutTo(text.substr(i, end - i), columns - indent - hanging);
    i = end + 1;
    if (word.empty()) continue;
    if (!empty && displayWidth(line) + 1 + displayWidth(word) > columns) {
      out += line + '\n';
      line.assign(indent + hanging, ' ');
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
  }
  return out + line + '\n';
}

std::string printable(std::string_view text) {
  std::string out;
  for (char c : text) {
    auto byte = static_cast<uint8_t>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += "·";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace tidegauge::base
