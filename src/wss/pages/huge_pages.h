// Huge pages that page tables do not show: the one of zeros, and those smaller than 2 MiB.
//
// HugeZero: the kernel's huge page of zeros, which a program gets that reads 2 MiB it has never
// written to. It is in no RSS. The entry of the small page of zeros is marked
// (kEntrySpecial), that of the huge one only since Linux 6.17 or so; before, the frame is marked in
// /proc/kpageflags.
//
//   entry clean, frame 0x12a00 → kpageflags: zero page → no memory
//
// largestFolioBytes: does the kernel make huge pages smaller than 2 MiB (mTHP) for private memory?
// They are mapped by entries of 4 KiB, so nothing in a page table shows them, and to clear a part
// of one splits it.
//
//   hugepages-64kB/enabled   always inherit madvise [never]
//   hugepages-512kB/enabled  always [inherit] madvise never
//   enabled                  always [madvise] never              → 512 KiB
//
// Cost: 1 µs for each huge page that nobody wrote to; ten small files. Source: pagemap.rst and
// transhuge.rst (Linux 6.8) of Documentation/admin-guide/mm.
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

// The largest that the kernel may make; 0: none.
uint64_t largestFolioBytes(const std::string& folder = "/sys/kernel/mm/transparent_hugepage");

}  // namespace tidegauge::wss
