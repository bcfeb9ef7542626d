// A search query split into words, and the possible meanings of each.
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
  bool exact = false;  // "=": the requested size counts too
};

struct AddressWord {
  uint64_t address = 0;
  std::optional<uint32_t> version;
};

struct SearchWord {
  std::string text;                    // lower case
  std::optional<SizeRange> size;       // then it has no other meaning
  std::optional<AddressWord> address;  // or the text
  std::string file;                    // "train.py" of "train.py:63"; empty if it has no line
  uint64_t line = 0;
};

inline constexpr size_t kMaxWords = 16;

// At most kMaxWords; the rest is ignored.
std::vector<SearchWord> searchWords(std::string_view query);

// ">512MiB", "<=1k", "=4096".
std::optional<SizeRange> sizeRangeOf(std::string_view word);
// "512mib", "1.5g", "4096"
std::optional<uint64_t> bytesOf(std::string_view text);

}  // namespace tidegauge::view
