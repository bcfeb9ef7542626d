#include "base/sizes.h"

#include <fmt/format.h>

#include <algorithm>

namespace tidegauge::base {

std::optional<ByteUnit> sharedUnit(std::initializer_list<uint64_t> sizes) {
  constexpr uint64_t kMostDigits = 100'000;
  auto shift = [](ByteUnit unit) { return 10 * static_cast<int>(unit); };
  uint64_t largest = std::max(sizes);
  uint64_t least = largest;
  for (uint64_t size : sizes) {
    if (size > 0) least = std::min(least, size);
  }
  ByteUnit unit = unitFor(least);
  bool close = least < largest && unit > ByteUnit::kMiB && largest - least < uint64_t{10} << 30;
  if (close && largest >> shift(ByteUnit::kMiB) < kMostDigits) unit = ByteUnit::kMiB;
  while (unit < ByteUnit::kTiB && largest >> shift(unit) >= kMostDigits) {
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

std::string pieces(uint64_t count) {
  return count == 1 ? "one piece" : fmt::format("{} pieces", withCommas(count));
}

std::string blocks(uint64_t count) {
  return count == 1 ? "one block" : fmt::format("{} blocks", withCommas(count));
}

}  // namespace tidegauge::base
