// A search query, taken apart into words and what each of them can mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidegauge::view {

struct SizeRange {  // inclusive
  uint64_t least_bytes = 0;
  uint64_t most_bytes = UINT64_MAX;
  bool exact = false;  // "=": the size requested counts too
};

struct AddressWord {
  uint64_t address = 0;
  std::optional<uint32_t> version;
};

struct SearchWord {
  std::string text;                    // lower case
  std::optional<SizeRange> size;       // then it means nothing else
  std::optional<AddressWord> address;  // or the text
  std::string file;                    // "train.py" of "train.py:63"; empty if it has no line
  uint64_t line = 0;
};

inline constexpr size_t kMostWords = 16;

// At most kMostWords; what follows is ignored.
std::vector<SearchWord> searchWords(std::string_view query);

// ">512MiB", "<=1k", "=4096".
std::optional<SizeRange> sizeRangeOf(std::string_view word);
// "512mib", "1.5g", "4096"
std::optional<uint64_t> bytesOf(std::string_view text);

}  // namespace tidegauge::view
