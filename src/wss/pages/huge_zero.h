// The kernel's huge page of zeros: what a program gets that reads 2 MiB it has never written to. It
// is nobody's memory (in no RSS), as the page of zeros is not, which its entry tells
// (kEntrySpecial). Of the huge one the entry tells it only since Linux 6.17 or so; before,
// /proc/kpageflags does, of its frame.
//
//   entry clean, frame 0x12a00 → kpageflags: zero page → no memory
//
// Cost: 1 µs for each huge page that nobody wrote to. Source:
// Documentation/admin-guide/mm/pagemap.rst.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace tidegauge::wss {

class WordFile;

class HugeZero {
 public:
  explicit HugeZero(std::string flags_path = "/proc/kpageflags");
  HugeZero(HugeZero&&) noexcept;
  HugeZero& operator=(HugeZero&&) noexcept;
  ~HugeZero();
  // Whether a huge page with this entry of a page table is that. False too where flags cannot be
  // read.
  bool isIt(uint64_t entry);

 private:
  std::string flags_path_;
  std::unique_ptr<WordFile> flags_;  // opened when it is asked first
  std::optional<uint64_t> frame_;    // once it was found
};

}  // namespace tidegauge::wss
