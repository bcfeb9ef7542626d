// The line of an instruction, by the table of lines in a code object of CPython.
//
//   3.9         co_lnotab     pairs: bytes of code, lines; the sum up to the instruction
//   3.10        co_linetable  pairs: bytes of code, lines; −128: these have no line
//   3.11 and on co_linetable  entries of 1 to 8 instructions with line and columns
//
// Source: Objects/lnotab_notes.txt (3.9, 3.10) and Objects/locations.md (3.11) of CPython. The
// table comes from another process: any bytes give some line or 0, and one pass over them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace tidegauge::record {

// 0: this instruction has no line. `place` is in units of two bytes; absent: before the first one.
uint32_t pythonLine(uint32_t minor, std::span<const uint8_t> table, int32_t first_line,
                    std::optional<uint32_t> place);

}  // namespace tidegauge::record
