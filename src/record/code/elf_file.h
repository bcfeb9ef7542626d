// The facts that a recorder needs about a program or library: positions of its functions in the
// file, its build id, its loader.
//
//   ElfFile::open("/proc/42/root/usr/lib/libcuda.so.1") → offsetOf("cuMemAlloc_v2") = 0x1c3f0
//
// Undefined (imported) symbols are skipped; if several tables exist, the dynamic one comes first.
// Reads the file as hostile input through libelf; it may be shortened or overwritten meanwhile.
// Cost: one pass over the symbols, about 1 ms for libcudart.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidegauge::record {

struct FunctionSymbol {
  uint64_t address = 0;
  uint64_t size_bytes = 0;  // 0: not in the file
  std::string name;         // as in the file: mangled
};

class ElfFile {
 public:
  static base::Result<ElfFile> open(const std::string& path);
  ElfFile(ElfFile&&) noexcept;
  ElfFile& operator=(ElfFile&&) noexcept;
  ~ElfFile();

  // Offsets of the wanted functions in the file, as far as it defines them.
  std::map<std::string, uint64_t, std::less<>> functions(
      const std::vector<std::string_view>& wanted) const;
  // Every function, by address; if several have the same address, the first.
  std::vector<FunctionSymbol> allFunctions() const;
  // Virtual address of any symbol, as in the file.
  std::optional<uint64_t> addressOf(std::string_view symbol) const;
  std::optional<uint64_t> offsetOfAddress(uint64_t address) const;
  std::optional<uint64_t> addressOfOffset(uint64_t offset) const;
  // The address that the file's data have at `address`, which must not be another module's.
  std::optional<uint64_t> pointerAt(uint64_t address) const;
  std::string buildId() const;      // hexadecimal; empty if none
  std::string interpreter() const;  // path of its dynamic loader; empty: static
  bool hasSection(std::string_view wanted) const;
  // Where the sections of that name lie in the file.
  struct Section {
    uint64_t offset = 0, size_bytes = 0, address = 0;
  };
  std::vector<Section> sections(std::string_view wanted) const;
  bool mentions(std::string_view wanted) const;  // defines it, or imports it
  bool hasNote(std::string_view section, std::string_view owner) const;
  // Bytes of the file, at most `size`; fewer at its end.
  std::vector<uint8_t> bytesAt(uint64_t offset, size_t size) const;

 private:
  struct Handle;
  explicit ElfFile(std::unique_ptr<Handle> handle);
  std::unique_ptr<Handle> handle_;
};

// The kernel cannot emulate the stub at the start of every export of libcuda, `cmpl $…,
// flag(%rip)`. It would single-step it: 12 µs instead of 1.3 µs per call. It can emulate the `je`
// after it. Returns the offset of a function's probe: 10 if it starts like that, else 0.
//   81 3D <4> <4> 74        spec: docs/decisions/0014
uint64_t probeSkip(const std::vector<uint8_t>& first_bytes);

// Whether an instruction begins with a prefix that the kernel does not probe: lock, or the segments
// es, cs, ss, ds.
bool hasBadPrefix(const std::vector<uint8_t>& first_bytes);

}  // namespace tidegauge::record
