// Puts pages that were just allocated on the kernel's lists (LRU): before, they have no generation
// and cannot be marked idle.
//
//   allocated ──► a batch of each processor, up to 31 pages ──► a list
//
// Else those that get there while it is measured seem touched: of eight runs on two processors one
// had 6 pages too many, with it none. No call is made for it, but MADV_COLLAPSE (Linux 6.1) does it
// before anything else, here on a range of our own that has nothing to collapse. Older kernels do
// without. Source: mm/khugepaged.c, madvise_collapse.
#pragma once

namespace tidegauge::wss {

void drainLists();

}  // namespace tidegauge::wss
