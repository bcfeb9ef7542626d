// A page of this process, written just now, and what /proc/self/pagemap says of it: how the kernel
// treats pages, found out without touching another process.
//
//   bit 55         has soft-dirty bits (mappings are born with them)
//   bits 0 to 54   where it lies in memory; 0 for who lacks CAP_SYS_ADMIN
//
// Source: Documentation/admin-guide/mm/pagemap.rst; of drainLists(), mm/khugepaged.c
// (madvise_collapse).
#pragma once

#include <cstdint>
#include <optional>

namespace tidegauge::wss {

class OwnPage {
 public:
  OwnPage();
  ~OwnPage();
  OwnPage(const OwnPage&) = delete;
  OwnPage& operator=(const OwnPage&) = delete;

  uint64_t address() const { return address_; }
  std::optional<uint64_t> pagemapEntry() const { return entry_; }  // not set: it cannot be read

 private:
  uint64_t address_ = 0, bytes_ = 0;
  std::optional<uint64_t> entry_;
};

// Puts pages that were just allocated on the kernel's lists (LRU): before, they have no generation
// and cannot be marked idle.
//
//   allocated ──► a batch of each processor, up to 31 pages ──► a list
//
// Else those that get there while it is measured seem touched: of eight runs on two processors one
// had 6 pages too many, with it none. No call is made for it, but MADV_COLLAPSE (Linux 6.1) does it
// before anything else, here on a range of this process without anything to collapse. Older kernels
// do without.
void drainLists();

}  // namespace tidegauge::wss
