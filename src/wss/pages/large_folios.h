// Does the kernel make huge pages smaller than 2 MiB (mTHP) for private memory? They are mapped by
// entries of 4 KiB, so nothing in a page table shows them, and to clear a part of one splits it.
//
//   hugepages-64kB/enabled   always inherit madvise [never]
//   hugepages-512kB/enabled  always [inherit] madvise never
//   enabled                  always [madvise] never              → 512 KiB
//
// Source: Documentation/admin-guide/mm/transhuge.rst (Linux 6.8). Cost: ten small files.
#pragma once

#include <cstdint>
#include <string>

namespace tidegauge::wss {

// The largest that it may make; 0: none.
uint64_t largestFolioBytes(const std::string& folder = "/sys/kernel/mm/transparent_hugepage");

}  // namespace tidegauge::wss
