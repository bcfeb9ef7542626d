// What /proc/kpageflags says of a part of a table before it is made cold (wide_flush.h), which no
// page table does.
//
//   pages there  │▓│ │▓│▓│ │▓│   of a larger page (a huge one mapped by parts, mTHP), which would
//                                be split                                              → none
//   first, last   └─────────┘    their own, on a list of memory in use: the kernel takes both
//                                bits                                                  → sure
//                                else it may skip one: a forked process maps it too, or it is on
//                                its way to a list                                     → maybe
//
// Looked at afterwards, pages that are touched all the time say nothing. Cost: 0.3 µs a page.
// Sources: madvise_cold_or_pageout_pte_range, mm/madvise.c;
// Documentation/admin-guide/mm/pagemap.rst.
#pragma once

#include "wss/pages/pagemap.h"
#include "wss/pte/wide_flush.h"

namespace tidegauge::wss {

// `flags`: /proc/kpageflags; none if it does not tell.
Chance chanceOf(const WideSpan& span, const Stretch& stretch, const WordFile& flags);

}  // namespace tidegauge::wss
