// Where the kernel has mapped all memory, as it reports it. An arm64 kernel maps the registers of
// devices among its memory, so reading at a guess might reach one.
//
//   /proc/kcore   LOAD  virtual 0xffff000040000000  physical 0x80000000
//                 → physical 0 is at 0xfffeffffc0000000
//
// There virtual = physical - memstart_addr + PAGE_OFFSET; memstart_addr is drawn at random at every
// start. Both are private to the kernel, but their difference stands in each program header of
// /proc/kcore. Needs CAP_SYS_RAWIO.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tidegauge::wss {

// The number to add to a physical address, from the ELF headers of /proc/kcore: that for the memory
// in which `address` lies. None: no header covers it.
std::optional<uint64_t> linearMapOf(std::span<const std::byte> headers, uint64_t address);
// The same for the running kernel.
std::optional<uint64_t> linearMapAt(uint64_t address, const std::string& path = "/proc/kcore");

// How many levels the tables have that begin at `top`, by the bits of an address that are not all
// ones in the kernel's half: memory is mapped at the lower end of it, so the first zero follows on
// those ones.
//
//   0xffffff80… 39 bits, 3 levels    0xffff0000… 48, 4    0xfff00000… 52, 5
uint32_t levelsOfArm64(uint64_t top);

}  // namespace tidegauge::wss
