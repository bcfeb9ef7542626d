// The small programs of .eh_frame that define, row by row, where the caller's registers are.
//
//   CIE: CFA = rsp + 8, return address at CFA − 8
//   FDE: advance 1 · CFA + 8 · rbp at CFA − 16 · advance 3 · CFA by rbp …  → the row for an address
//
// Evaluates only what a walk needs: the CFA, rbp and the return address. Source: DWARF 5, 6.4.2.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "bpf/records.h"

namespace tidegauge::record {

struct UnwindProgram {
  uint64_t code_step = 1;
  int64_t data_step = -8;
  bool of_signal = false;
  uint64_t begin = 0;  // address of the function
  std::span<const uint8_t> of_cie, of_fde;
};

// UNWIND_CUT for forms that the walk does not support, and for damaged programs.
unwind_rule ruleOf(const UnwindProgram& program, uint64_t address);

// Reads numbers of a hostile file: beyond the end, everything is 0 and ok() is false.
class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint64_t number(size_t bytes);  // little-endian
  int64_t signedNumber(size_t bytes);
  uint64_t uleb();
  int64_t sleb();
  std::span<const uint8_t> take(uint64_t bytes);
  bool atEnd() const { return at_ >= bytes_.size(); }
  bool ok() const { return ok_; }
  size_t at() const { return at_; }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace tidegauge::record
