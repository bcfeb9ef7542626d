// UnwindTable: finds the caller of a frame, at any place of one program or library, from its
// .eh_frame, which every compiler writes (exceptions need it) and `strip` keeps.
//
//   ruleAt(0x1139) ─► .eh_frame_hdr: which function it is ───► its FDE and CIE ─► run the
//                     instructions up to 0x1139 ─► CFA = rsp + 48, rbp saved at CFA − 16
//
// Nothing is prepared or cached, except an index for a file without one (linked with -static),
// built when it is opened. An answer costs some small reads (under 10 µs), once per return address
// on a stack. The file is hostile: it is read, never mapped (it could be shortened meanwhile),
// every length is bounded, nothing recurses.
// Source: Linux Standard Base 5.0, chapter 10 (.eh_frame, .eh_frame_hdr); DWARF 5, section 6.4.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bpf/records.h"
#include "record/unwind/unwind_entry.h"

namespace tidegauge::record {

class UnwindTable {
 public:
  // Error: it has no table that can be searched.
  static base::Result<UnwindTable> open(const std::string& path);
  UnwindTable(UnwindTable&& other) noexcept;
  UnwindTable& operator=(UnwindTable&& other) noexcept;
  ~UnwindTable();

  // The rule for an address in the file; absent without a function that has a table. UNWIND_CUT: in
  // a form that the walk does not support.
  std::optional<unwind_rule> ruleAt(uint64_t address) const;
  std::optional<uint64_t> addressOfOffset(uint64_t offset) const;

 private:
  struct Part {  // a PT_LOAD
    uint64_t offset = 0, address = 0, bytes = 0;
    bool is_code = false;
  };
  struct Bytes;
  UnwindTable() = default;
  base::Status readHeader(const std::string& path);
  bool readIndexOfLinker();
  base::Status makeIndex(const Elf64_Ehdr& file, const std::string& path);
  bool read(uint64_t address, void* into, size_t bytes) const;
  std::optional<uint64_t> findFde(uint64_t address) const;
  // The entry at an address, without its length word.
  std::optional<std::vector<uint8_t>> entryAt(uint64_t address) const;

  int descriptor_ = -1;
  std::vector<Part> parts_;
  uint64_t header_ = 0;   // address of .eh_frame_hdr; its table is relative to it
  uint64_t rows_at_ = 0;  // 0: index_ is used instead
  uint64_t rows_ = 0;
  std::vector<UnwindRow> index_;
};

}  // namespace tidegauge::record
