// The entries of .eh_frame: a CIE has the common part of many functions, an FDE the addresses of
// one function. An index of all FDEs, for files without one (.eh_frame_hdr).
//
//   CIE {data step −8, addresses relative, 4 bytes} ◄── FDE {0x1130, 0x40 bytes, program}
//   indexOf(section) → {0x1130, where its FDE is}, … by address
//
// Hostile input: bounded lengths, no recursion. Cost: one pass over the section, on request.
// Source: Linux Standard Base 5.0, chapter 10.6.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "record/unwind/unwind_program.h"

namespace tidegauge::record {

// Encodings of addresses: the low four bits are the form, the next three the base.
enum UnwindEncoding : uint8_t {
  kForm = 0x0f,
  kFrom = 0x70,
  kFromHere = 0x10,
  kIndirect = 0x80,
  kOmitted = 0xff,
};
size_t bytesOf(uint8_t encoding);  // 0: no fixed length, which no linker writes

struct Cie {
  UnwindProgram program;  // its part of_cie
  uint8_t address_encoding = 0;
  bool has_augmentation = false;
};
std::optional<Cie> readCie(std::span<const uint8_t> bytes);  // without the length word

struct FunctionRange {
  uint64_t begin = 0, length = 0;
};
// The next two fields of an FDE; `here` is the address of the first one.
std::optional<FunctionRange> readRange(ByteReader& fde, uint8_t encoding, uint64_t here);

struct UnwindRow {
  uint64_t function = 0, fde = 0;  // addresses
};
inline constexpr size_t kMaxIndexed = 4'000'000;
// All functions of a section at `address`, by address, up to the first damage.
std::vector<UnwindRow> indexOf(std::span<const uint8_t> section, uint64_t address);

}  // namespace tidegauge::record
