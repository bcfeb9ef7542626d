// Numbers for people, as in docs/style of the page: binary units, one space, commas between
// thousands.
//
//   humanBytes(37'075'550'208) = "34.53 GiB"   humanBytes(96'256) = "94.0 KiB"
//   humanBytes(512) = "512 B"
//
// B: whole numbers; KiB and MiB: one decimal below 100, else none; GiB and TiB: two decimals.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tidegauge::base {

std::string humanBytes(uint64_t bytes);
// In the given unit (so that compared numbers share one): "3,842 MiB".
enum class ByteUnit : uint8_t { kB, kKiB, kMiB, kGiB, kTiB };
ByteUnit unitFor(uint64_t bytes);
std::string_view name(ByteUnit unit);  // "MiB"
std::string humanBytes(uint64_t bytes, ByteUnit unit);
// "−1.2 GiB", "+512 B", "0".
std::string humanDelta(int64_t bytes);
std::string withCommas(uint64_t number);
// "1 block", "2,310 blocks".
std::string counted(uint64_t number, std::string_view noun);
// "0x7f0586000000"
std::string hexAddress(uint64_t address);
// "2026-11-22 15:03:12 UTC", from ns since the epoch.
std::string utcTime(int64_t time_ns);
// PyTorch's name of a block life: "b7f0586000000_1".
std::string addressId(uint64_t address, uint32_t version, char prefix = 'b');

}  // namespace tidegauge::base
