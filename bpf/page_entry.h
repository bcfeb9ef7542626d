// The meaning of a page table entry, in the form of x86-64, which all readers of tables expect.
// Entries of other machines are translated into it (page_entry_arm64.h).
//
//   0x8000000012345867 → there, touched, written; the memory at 0x12345000
//
// Sources: Intel SDM volume 3, 4.5; Linux arch/x86/include/asm/pgtable*.h.
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

#define PAGE_ENTRY_PRESENT 0x1ULL
#define PAGE_ENTRY_WRITABLE 0x2ULL  // with PRESENT; never set for arm64
#define PAGE_ENTRY_ACCESSED 0x20ULL
#define PAGE_ENTRY_DIRTY 0x40ULL
#define PAGE_ENTRY_LEAF 0x80ULL      // above the last level: a large page, not a table
#define PAGE_ENTRY_HIDDEN 0x100ULL   // without PRESENT: resident, but inaccessible; place inverted
#define PAGE_ENTRY_SPECIAL 0x200ULL  // not a page of RSS, such as the shared zero page
#define PAGE_ENTRY_PLACE 0x000ffffffffff000ULL
// For an entry that is neither present nor empty: the number of the swap file, from this bit on.
#define PAGE_ENTRY_SWAP_FILE 59
