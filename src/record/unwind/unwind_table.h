// UnwindTable: how to get from a frame to its caller, at any place of one program or library, from
// its .eh_frame, which every compiler writes (exceptions need it) and `strip` leaves.
//
//   ruleAt(0x1139) ─► .eh_frame_hdr: which function is that ─► its FDE and CIE ─► run the
//                     instructions up to 0x1139 ─► CFA = rsp + 48, rbp saved at CFA − 16
//
// Nothing is prepared and nothing kept, but for a file without that index (linked with -static), of
// which one is made when it is opened: an answer costs some small reads (under 10 µs), and is asked
// for once per return address that comes up on a stack. The file is hostile: it is read, never
// mapped (it could be cut short meanwhile), every length is bounded, nothing recurses.
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
  // An error: it has no table that can be searched.
  static base::Result<UnwindTable> open(const std::string& path);
  UnwindTable(UnwindTable&& other) noexcept;
  UnwindTable& operator=(UnwindTable&& other) noexcept;
  ~UnwindTable();

  // Of an address as the file says it; nothing where no function with a table is. UNWIND_CUT: it is
  // told in a form that the walk does not know.
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
  // The entry at an address without its length word.
  std::optional<std::vector<uint8_t>> entryAt(uint64_t address) const;

  int descriptor_ = -1;
  std::vector<Part> parts_;
  uint64_t header_ = 0;   // address of .eh_frame_hdr, from which its table counts
  uint64_t rows_at_ = 0;  // 0: index_ is instead
  uint64_t rows_ = 0;
  std::vector<UnwindRow> index_;
};

}  // namespace tidegauge::record
