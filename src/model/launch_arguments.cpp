#include "model/launch_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

namespace tidegauge::model {
namespace {

constexpr uint64_t kWord = 8;

void addValue(std::string& text, std::span<const uint8_t> value) {
  if (!text.empty()) text += ' ';
  if (value.size() == 1 || value.size() == 2 || value.size() == 4 || value.size() == kWord) {
    uint64_t number = 0;
    std::memcpy(&number, value.data(), value.size());
    text += fmt::format("{:#x}", number);
    return;
  }
  text += "x'";
  for (uint8_t byte : value) text += fmt::format("{:02x}", byte);
  text += "'";
}

}  // namespace

std::vector<uint64_t> parameterSizes(std::string_view layout) {
  std::vector<uint64_t> sizes;
  while (!layout.empty()) {
    std::string_view one = layout.substr(0, layout.find(' '));
    layout.remove_prefix(std::min(layout.size(), one.size() + 1));
    size_t colon = one.find(':');
    uint64_t size = 0;
    if (colon == std::string_view::npos) return sizes;
    std::string_view digits = one.substr(colon + 1);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (error != std::errc() || end != digits.data() + digits.size()) return sizes;
    sizes.push_back(size);
  }
  return sizes;
}

std::string argumentsText(std::span<const uint8_t> bytes, int64_t parameters,
                          std::string_view layout) {
  std::vector<uint64_t> sizes;
  if (parameters >= 0) {
    sizes = parameterSizes(layout);
    if (sizes.size() > static_cast<uint64_t>(parameters))
      sizes.resize(static_cast<size_t>(parameters));
    uint64_t whole = 0, words = 0;
    for (uint64_t size : sizes) {
      whole += std::min<uint64_t>(size, bytes.size() + 1);  // no sum overflows
      words += std::min(size, kWord);
    }
    // Recorded before its sizes were known: at most 8 bytes of each.
    if (whole != bytes.size() && words == bytes.size())
      for (uint64_t& size : sizes) size = std::min(size, kWord);
  }
  std::string text;
  for (size_t i = 0; !bytes.empty(); ++i) {
    uint64_t size = i < sizes.size() && sizes[i] > 0 ? sizes[i] : kWord;
    std::span<const uint8_t> value = bytes.first(std::min<uint64_t>(size, bytes.size()));
    addValue(text, value);
    bytes = bytes.subspan(value.size());
  }
  return text;
}

}  // namespace tidegauge::model
