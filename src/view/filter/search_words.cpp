#include "view/filter/search_words.h"

#include <charconv>
#include <cmath>

#include "base/ascii.h"

namespace tidegauge::view {

std::optional<uint64_t> bytesOf(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  constexpr std::string_view kLetters = "kmgt";
  double factor = 1;
  if (!unit.empty() && unit != "b") {
    size_t power = kLetters.find(unit[0]);
    bool known = unit.size() == 1 || unit.substr(1) == "b" || unit.substr(1) == "ib";
    if (power == std::string_view::npos || !known) return std::nullopt;
    factor = std::exp2(10.0 * static_cast<double>(power + 1));
  }
  double bytes = std::round(number * factor);
  return bytes < 0x1p63 ? static_cast<uint64_t>(bytes) : uint64_t{1} << 63;
}

std::optional<SizeRange> sizeRangeOf(std::string_view word) {
  size_t signs = word.find_first_not_of("<>=");
  if (signs == 0 || signs == std::string_view::npos) return std::nullopt;
  std::optional<uint64_t> bytes = bytesOf(word.substr(signs));
  if (!bytes) return std::nullopt;
  std::string_view sign = word.substr(0, signs);
  if (sign == ">") return SizeRange{*bytes + 1, UINT64_MAX, false};
  if (sign == ">=") return SizeRange{*bytes, UINT64_MAX, false};
  if (sign == "<" && *bytes == 0) return SizeRange{1, 0, false};  // no size is below 0
  if (sign == "<") return SizeRange{0, *bytes - 1, false};
  if (sign == "<=") return SizeRange{0, *bytes, false};
  if (sign == "=") return SizeRange{*bytes, *bytes, true};
  return std::nullopt;
}

namespace {

template <class Int>
std::optional<Int> wholeNumber(std::string_view text, int base = 10) {
  Int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "b7f0586000000_1", "0x7f0586000000", "7f0586000000": at least six digits, so that "add" and
// "face" remain words.
std::optional<AddressWord> addressOf(std::string_view word) {
  AddressWord found;
  size_t underscore = word.find('_');
  if (underscore != std::string_view::npos) {
    found.version = wholeNumber<uint32_t>(word.substr(underscore + 1));
    if (!found.version) return std::nullopt;
    word = word.substr(0, underscore);
  }
  if (word.starts_with("0x")) {
    word.remove_prefix(2);
  } else if ((word.starts_with("b") && underscore != std::string_view::npos) ||
             (word.starts_with("b7f") && word.size() == 13)) {  // as PyTorch shows them
    word.remove_prefix(1);
  } else if (word.size() < 6) {
    return std::nullopt;
  }
  std::optional<uint64_t> address = wholeNumber<uint64_t>(word, 16);
  if (!address) return std::nullopt;
  found.address = *address;
  return found;
}

SearchWord meaningOf(std::string_view text) {
  SearchWord word;
  word.text = base::lowerAscii(text);
  word.size = sizeRangeOf(word.text);
  if (word.size) return word;
  word.address = addressOf(word.text);
  size_t colon = word.text.rfind(':');
  if (colon != std::string::npos && colon > 0) {
    if (auto line = wholeNumber<uint64_t>(std::string_view(word.text).substr(colon + 1))) {
      word.file = word.text.substr(0, colon);
      word.line = *line;
    }
  }
  return word;
}

}  // namespace

std::vector<SearchWord> searchWords(std::string_view query) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::vector<SearchWord> words;
  while (words.size() < kMaxWords) {
    size_t begin = query.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) break;
    query.remove_prefix(begin);
    size_t end = std::min(query.find_first_of(kSpace), query.size());
    words.push_back(meaningOf(query.substr(0, end)));
    query.remove_prefix(end);
  }
  return words;
}

}  // namespace tidegauge::view
