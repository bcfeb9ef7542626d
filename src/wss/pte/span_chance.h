// What /proc/kpageflags shows about a part of a table before it is made cold (wide_flush.h); page
// tables do not contain it.
//
//   pages there  │▓│ │▓│▓│ │▓│   of a larger page (a huge one mapped by parts, mTHP), which would
//                                be split                                              → none
//   first, last   └─────────┘    their own, on a list of memory in use: the kernel clears both
//                                bits                                                  → sure
//                                if not, it may skip one: a forked process maps it too, or it is
//                                on its way to a list                                  → maybe
//
// A check afterwards would not work for constantly touched pages. Cost: 0.3 µs per page. Sources:
// madvise_cold_or_pageout_pte_range, mm/madvise.c; Documentation/admin-guide/mm/pagemap.rst.
#pragma once

#include "wss/pages/pagemap.h"
#include "wss/pte/wide_flush.h"

namespace tidegauge::wss {

// `flags`: /proc/kpageflags; kNone if it is not readable.
Chance chanceOf(const WideSpan& span, const Stretch& stretch, const WordFile& flags);

}  // namespace tidegauge::wss
