#include "base/text_layout.h"

#include <algorithm>
#include <cstdint>

namespace tidegauge::base {
namespace {

struct Character {
  size_t bytes = 1;
  uint32_t code_point = 0;
  bool valid = true;  // if not, one byte that belongs to no character
};

Character characterAt(std::string_view text, size_t i) {
  auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  uint8_t lead = byte(i);
  if (lead < 0x80) return {1, lead, true};
  size_t bytes = (lead >> 5) == 6 ? 2 : (lead >> 4) == 14 ? 3 : (lead >> 3) == 30 ? 4 : 0;
  constexpr Character kBad{1, 0xfffd, false};
  if (bytes == 0 || i + bytes > text.size()) return kBad;
  auto code_point = static_cast<uint32_t>(lead & (0x7f >> bytes));
  for (size_t k = 1; k < bytes; ++k) {
    if ((byte(i + k) & 0xc0) != 0x80) return kBad;
    code_point = code_point << 6 | (byte(i + k) & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  if (code_point < kLeast[bytes] || code_point > 0x10ffff || surrogate) return kBad;
  return {bytes, code_point, true};
}

struct CodePoints {
  uint32_t first, last;
};

// If terminals differ, the wider width is used: a line may end early, never late.
constexpr CodePoints kWide[] = {
    {0x1100, 0x115f},  {0x231a, 0x231b}, {0x2329, 0x232a},   {0x23e9, 0x23f3},   {0x25fd, 0x25fe},
    {0x2614, 0x2615},  {0x2648, 0x2653}, {0x267f, 0x27bf},   {0x2b1b, 0x2b55},   {0x2e80, 0xa4cf},
    {0xa960, 0xa97c},  {0xac00, 0xd7a3}, {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},
    {0xff00, 0xff60},  {0xffe0, 0xffe6}, {0x16fe0, 0x18d08}, {0x1aff0, 0x1b2ff}, {0x1f000, 0x1faff},
    {0x20000, 0x3fffd}};
// Marks on the character before them, and joiners.
constexpr CodePoints kNoWidth[] = {{0x300, 0x36f},   {0x200b, 0x200d}, {0x20d0, 0x20f0},
                                   {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}};
// C1 controls control terminals like escape sequences; line separators break lines; direction marks
// change the order in which text is read.
constexpr CodePoints kSteering[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},
                                    {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};

template <size_t N>
bool isIn(const CodePoints (&table)[N], uint32_t code_point) {
  return std::any_of(table, table + N, [&](const CodePoints& range) {
    return range.first <= code_point && code_point <= range.last;
  });
}

size_t widthOf(uint32_t code_point) {
  if (code_point < 0x300) return 1;
  return isIn(kNoWidth, code_point) ? 0 : isIn(kWide, code_point) ? 2 : 1;
}

}  // namespace

size_t displayWidth(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size();) {
    Character c = characterAt(text, i);
    width += widthOf(c.code_point);
    i += c.bytes;
  }
  return width;
}

std::string cutTo(std::string_view text, size_t columns) {
  size_t width = 0;
  size_t kept = 0;  // bytes that leave one column for "…"
  for (size_t i = 0; i < text.size();) {
    Character c = characterAt(text, i);
    width += widthOf(c.code_point);
    i += c.bytes;
    if (width < columns) kept = i;
    if (width <= columns) continue;
    return columns == 0 ? std::string() : std::string(text.substr(0, kept)) + "…";
  }
  return std::string(text);
}

std::string cutFront(std::string_view text, size_t columns) {
  size_t width = displayWidth(text);
  if (width <= columns) return std::string(text);
  size_t i = 0;
  while (i < text.size() && width + 1 > columns) {
    Character c = characterAt(text, i);
    width -= widthOf(c.code_point);
    i += c.bytes;
  }
  return columns == 0 ? std::string() : "…" + std::string(text.substr(i));
}

std::string cutMiddle(std::string_view text, size_t columns) {
  constexpr size_t kLeast = 6;  // shorter pieces of both ends show nothing useful
  if (columns < kLeast || displayWidth(text) <= columns) return cutTo(text, columns);
  size_t end = (columns - 1) / 3;
  constexpr std::string_view kMark = "…";
  std::string head = cutTo(text, columns - end);
  std::string tail = cutFront(text, end + 1).substr(kMark.size());
  // A cut number would read as another one: "model.py:42…" for line 423.
  constexpr std::string_view kDigits = "0123456789";
  head.resize(head.size() - kMark.size());
  head.resize(head.find_last_not_of(kDigits) + 1);
  tail.erase(0, tail.find_first_not_of(kDigits));
  return head.append(kMark) + tail;
}

std::string cutFolders(std::string_view path, size_t columns) {
  if (displayWidth(path) <= columns) return std::string(path);
  constexpr std::string_view kMark = "…";
  size_t at = 0;
  while ((at = path.find('/', at + 1)) != std::string_view::npos)
    if (displayWidth(path.substr(at)) + 1 <= columns)
      return std::string(kMark).append(path.substr(at));
  size_t last = path.rfind('/');
  return cutFront(last == std::string_view::npos ? path : path.substr(last + 1), columns);
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
  size_t margin = indent + hanging;
  size_t room = columns > margin ? columns - margin : 1;
  while (i < text.size()) {
    size_t end = text.find(' ', i);
    if (end == std::string_view::npos) end = text.size();
    std::string word = cutMiddle(text.substr(i, end - i), room);
    i = end + 1;
    if (word.empty()) continue;
    if (!empty && displayWidth(line) + 1 + displayWidth(word) > columns) {
      out += line + '\n';
      line.assign(margin, ' ');
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
  for (size_t i = 0; i < text.size();) {
    Character c = characterAt(text, i);
    if (!c.valid) {
      out += "\uFFFD";
    } else if (isIn(kSteering, c.code_point)) {
      out += "·";
    } else {
      out += text.substr(i, c.bytes);
    }
    i += c.bytes;
  }
  return out;
}

}  // namespace tidegauge::base
