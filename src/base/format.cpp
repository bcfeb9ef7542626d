#include "base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tidegauge::base {
namespace {

constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};

std::string commasInside(std::string_view digits) {
  size_t end = std::min<size_t>(digits.find('.'), digits.size());
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && i < end && (end - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace

ByteUnit unitFor(uint64_t bytes) {
  int unit = 0;
  while (unit < 4 && bytes >= uint64_t{1} << (10 * (unit + 1))) ++unit;
  return static_cast<ByteUnit>(unit);
}

std::string humanBytes(uint64_t bytes, ByteUnit unit) {
  int index = static_cast<int>(unit);
  double value = static_cast<double>(bytes) / std::ldexp(1.0, 10 * index);
  int decimals = 2;
  if (unit == ByteUnit::kB) decimals = 0;
  if (unit == ByteUnit::kKiB || unit == ByteUnit::kMiB) decimals = value < 99.95 ? 1 : 0;
  return fmt::format("{} {}", commasInside(fmt::format("{:.{}f}", value, decimals)), kUnits[index]);
}

std::string humanBytes(uint64_t bytes) { return humanBytes(bytes, unitFor(bytes)); }

std::string humanDelta(int64_t bytes) {
  if (bytes == 0) return "0";
  uint64_t magnitude =
      bytes < 0 ? uint64_t{0} - static_cast<uint64_t>(bytes) : static_cast<uint64_t>(bytes);
  return (bytes < 0 ? "\u2212" : "+") + humanBytes(magnitude);
}

std::string withCommas(uint64_t number) { return commasInside(fmt::format("{}", number)); }

std::string counted(uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", withCommas(number), noun, number == 1 ? "" : "s");
}

std::string hexAddress(uint64_t address) { return fmt::format("0x{:x}", address); }

std::string addressId(uint64_t address, uint32_t version, char prefix) {
  return fmt::format("{}{:x}_{}", prefix, address, version);
}

}  // namespace tidegauge::base
