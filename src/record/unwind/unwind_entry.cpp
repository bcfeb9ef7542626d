#include "record/unwind/unwind_entry.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace tidegauge::record {

size_t bytesOf(uint8_t encoding) {
  switch (encoding & kForm) {
    case 0x00:
    case 0x04:
    case 0x0c:
      return 8;
    case 0x02:
    case 0x0a:
      return 2;
    case 0x03:
    case 0x0b:
      return 4;
    default:
      return 0;
  }
}

std::optional<Cie> readCie(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  if (reader.number(4) != 0) return std::nullopt;
  uint64_t version = reader.number(1);
  if (version != 1 && version != 3) return std::nullopt;
  std::string augmentation;
  while (char c = static_cast<char>(reader.number(1))) {
    if (augmentation.size() == 8) return std::nullopt;
    augmentation += c;
  }
  Cie cie;
  cie.program.code_step = reader.uleb();
  cie.program.data_step = reader.sleb();
  uint64_t return_register = version == 1 ? reader.number(1) : reader.uleb();
  if (!reader.ok() || return_register != 16) return std::nullopt;
  if (!augmentation.empty()) {
    if (augmentation[0] != 'z') return std::nullopt;
    cie.has_augmentation = true;
    ByteReader extra(reader.take(reader.uleb()));
    for (char c : augmentation.substr(1)) {
      if (c == 'R') {
        cie.address_encoding = static_cast<uint8_t>(extra.number(1));
      } else if (c == 'P') {
        extra.take(bytesOf(static_cast<uint8_t>(extra.number(1))));
      } else if (c == 'L') {
        extra.number(1);
      } else if (c == 'S') {
        cie.program.of_signal = true;
      } else {
        return std::nullopt;
      }
    }
    if (!extra.ok()) return std::nullopt;
  }
  cie.program.of_cie = bytes.subspan(reader.at());
  return reader.ok() ? std::optional(cie) : std::nullopt;
}

std::optional<FunctionRange> readRange(ByteReader& fde, uint8_t encoding, uint64_t here) {
  size_t size = bytesOf(encoding);
  uint8_t from = encoding & kFrom;
  if (size == 0 || encoding == kOmitted || (encoding & kIndirect) != 0 ||
      (from != 0 && from != kFromHere))
    return std::nullopt;
  bool is_signed = (encoding & 0x08) != 0;
  FunctionRange range;
  range.begin = is_signed ? static_cast<uint64_t>(fde.signedNumber(size)) : fde.number(size);
  if (from == kFromHere) range.begin += here;
  range.length = fde.number(size);
  return fde.ok() ? std::optional(range) : std::nullopt;
}

std::vector<UnwindRow> indexOf(std::span<const uint8_t> section, uint64_t address) {
  std::vector<UnwindRow> rows;
  std::unordered_map<size_t, std::optional<uint8_t>> encodings;  // by position of the CIE
  size_t at = 0;
  while (section.size() - at >= 4 && rows.size() < kMaxIndexed) {
    size_t length = ByteReader(section.subspan(at, 4)).number(4);
    size_t begin = at + 4;  // of the entry: its position is relative to this
    if (length > section.size() - begin) break;
    at = begin + length;
    if (length < 4) continue;  // 0: an end, after which another object's part may follow
    ByteReader entry(section.subspan(begin, length));
    size_t back = entry.number(4);
    if (back == 0 || back > begin) continue;  // 0: a CIE
    size_t cie_at = begin - back;
    auto [encoding, is_new] = encodings.try_emplace(cie_at);
    if (is_new && section.size() - cie_at >= 4) {
      size_t cie_length = ByteReader(section.subspan(cie_at, 4)).number(4);
      if (cie_length <= section.size() - cie_at - 4)
        if (auto cie = readCie(section.subspan(cie_at + 4, cie_length)))
          encoding->second = cie->address_encoding;
    }
    if (!encoding->second) continue;
    auto range = readRange(entry, *encoding->second, address + begin + 4);
    if (range && range->length > 0) rows.push_back({range->begin, address + begin - 4});
  }
  std::sort(rows.begin(), rows.end(),
            [](const UnwindRow& a, const UnwindRow& b) { return a.function < b.function; });
  return rows;
}

}  // namespace tidegauge::record
