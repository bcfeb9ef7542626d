#include "base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

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

// Exact: halves are rounded up, as the page's toFixed does. fmt rounds halves of doubles to even.
std::string humanBytes(uint64_t bytes, ByteUnit unit) {
  int index = static_cast<int>(unit);
  auto rounded = [&](uint64_t parts) {  // parts of the unit: 10 = tenths
    return static_cast<uint64_t>(
        (static_cast<unsigned __int128>(bytes) * parts * 2 + (uint64_t{1} << 10 * index)) >>
        (10 * index + 1));
  };
  int decimals = 2;
  if (unit == ByteUnit::kB) decimals = 0;
  if (unit == ByteUnit::kKiB || unit == ByteUnit::kMiB) decimals = rounded(10) < 1000 ? 1 : 0;
  constexpr uint64_t kParts[] = {1, 10, 100};
  uint64_t value = rounded(kParts[decimals]);
  std::string digits = fmt::format("{}", value / kParts[decimals]);
  if (decimals > 0) digits += fmt::format(".{:0{}}", value % kParts[decimals], decimals);
  return fmt::format("{} {}", commasInside(digits), kUnits[index]);
}

std::string_view name(ByteUnit unit) { return kUnits[static_cast<size_t>(unit)]; }

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

std::string utcTime(int64_t time_ns) {
  std::time_t seconds = time_ns / 1'000'000'000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::string hexAddress(uint64_t address) { return fmt::format("0x{:x}", address); }

std::string addressId(uint64_t address, uint32_t version, char prefix) {
  return fmt::format("{}{:x}_{}", prefix, address, version);
}

}  // namespace tidegauge::base
