#include "record/python/python_lines.h"

namespace tidegauge::record {
namespace {

constexpr int8_t kNoLine = -128;

uint32_t asLine(int64_t line) {
  return line > 0 && line <= UINT32_MAX ? static_cast<uint32_t>(line) : 0;
}

uint32_t lineInPairs(bool has_gaps, std::span<const uint8_t> table, int64_t line, uint64_t byte) {
  uint64_t at = 0;
  int64_t here = line;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    auto more = static_cast<int8_t>(table[i + 1]);
    if (has_gaps) {  // the pair is about the bytes that it skips
      here = more == kNoLine ? 0 : (line += more);
      at += table[i];
      if (byte < at) return asLine(here);
    } else {  // the line begins after the bytes that it skips
      at += table[i];
      if (at > byte) break;
      line += more;
    }
  }
  return has_gaps ? 0 : asLine(line);
}

// The entries of 3.11: a byte 1 kkkk nnn (kind, instructions − 1), then bytes without the top bit.
class Entries {
 public:
  explicit Entries(std::span<const uint8_t> table) : table_(table) {}
  bool next(int64_t& line) {
    while (at_ < table_.size() && (table_[at_] & 0x80) == 0) ++at_;
    if (at_ >= table_.size()) return false;
    uint8_t head = table_[at_++];
    length_ = (head & 7U) + 1U;
    uint32_t kind = (head >> 3) & 15U;
    has_line_ = kind != 15;
    if (kind == 13 || kind == 14) line += signedNumber();
    if (kind >= 10 && kind <= 12) line += kind - 10;
    return true;
  }
  uint32_t length() const { return length_; }
  bool hasLine() const { return has_line_; }

 private:
  int64_t signedNumber() {
    uint64_t value = 0;
    for (uint32_t shift = 0; at_ < table_.size() && shift < 36; shift += 6) {
      uint8_t byte = table_[at_++];
      value |= static_cast<uint64_t>(byte & 0x3f) << shift;
      if ((byte & 0x40) == 0) break;
    }
    auto half = static_cast<int64_t>(value >> 1);
    return (value & 1) != 0 ? -half : half;
  }
  std::span<const uint8_t> table_;
  size_t at_ = 0;
  uint32_t length_ = 0;
  bool has_line_ = false;
};

}  // namespace

uint32_t pythonLine(uint32_t minor, std::span<const uint8_t> table, int32_t first_line,
                    std::optional<uint32_t> place) {
  if (!place) return asLine(first_line);
  if (minor <= 10) return lineInPairs(minor == 10, table, first_line, uint64_t{*place} * 2);
  Entries entries(table);
  int64_t line = first_line;
  for (uint64_t end = 0; entries.next(line);) {
    end += entries.length();
    if (*place < end) return entries.hasLine() ? asLine(line) : 0;
  }
  return 0;
}

}  // namespace tidegauge::record
