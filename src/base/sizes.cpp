#include "base/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/ascii.h"

namespace tidegauge::base {

std::optional<ByteUnit> sharedUnit(std::initializer_list<uint64_t> sizes) {
  constexpr uint64_t kMaxDigits = 100'000;
  auto shift = [](ByteUnit unit) { return 10 * static_cast<int>(unit); };
  uint64_t largest = std::max(sizes);
  uint64_t least = largest;
  for (uint64_t size : sizes) {
    if (size > 0) least = std::min(least, size);
  }
  ByteUnit unit = unitFor(least);
  bool close = least < largest && unit > ByteUnit::kMiB && largest - least < uint64_t{10} << 30;
  if (close && largest >> shift(ByteUnit::kMiB) < kMaxDigits) unit = ByteUnit::kMiB;
  while (unit < ByteUnit::kTiB && largest >> shift(unit) >= kMaxDigits) {
    unit = static_cast<ByteUnit>(static_cast<int>(unit) + 1);
  }
  bool far_apart = humanBytes(least, unit) == humanBytes(0, unit);
  return far_apart ? std::nullopt : std::optional(unit);
}

std::string inUnit(uint64_t size, std::optional<ByteUnit> unit) {
  return unit && size > 0 ? humanBytes(size, *unit) : humanBytes(size);
}

std::vector<std::string> inOneUnit(std::initializer_list<uint64_t> sizes) {
  std::optional<ByteUnit> unit = sharedUnit(sizes);
  std::vector<std::string> texts;
  for (uint64_t size : sizes) texts.push_back(inUnit(size, unit));
  return texts;
}

std::string sizeOrZero(uint64_t bytes) { return bytes == 0 ? "0" : humanBytes(bytes); }

std::optional<uint64_t> parseSize(std::string_view text) {
  size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
  if (error != std::errc() || end != text.data() + digits) return std::nullopt;
  std::string unit = lowerAscii(text.substr(digits));
  constexpr std::string_view kLetters = "kmgtp";
  double factor = 1;
  if (!unit.empty() && unit != "b") {
    size_t power = kLetters.find(unit[0]);
    std::string_view rest = std::string_view(unit).substr(1);
    bool known = power != std::string_view::npos && (rest.empty() || rest == "b" || rest == "ib");
    if (!known) return std::nullopt;
    factor = std::exp2(10.0 * static_cast<double>(power + 1));
  } else if (number != std::floor(number)) {
    return std::nullopt;
  }
  double bytes = std::round(number * factor);
  return bytes <= static_cast<double>(kMaxSizeBytes) ? std::optional(static_cast<uint64_t>(bytes))
                                                     : std::nullopt;
}

std::string blocks(uint64_t count) {
  return count == 1 ? "one block" : fmt::format("{} blocks", withCommas(count));
}

}  // namespace tidegauge::base
