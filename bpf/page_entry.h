// What an entry of a page table says, in the form of x86-64, which all readers of tables expect;
// those of other machines are translated into it (page_entry_arm64.h).
//
//   0x8000000012345867 → there, touched, written; the memory at 0x12345000
//
// Sources: Intel SDM volume 3, 4.5; Linux arch/x86/include/asm/pgtable*.h.
#pragma once

#ifndef __bpf__
#include <linux/types.h>
#endif

#define PAGE_ENTRY_PRESENT 0x1ULL
#define PAGE_ENTRY_WRITABLE 0x2ULL  // beside PRESENT; of arm64 never told
#define PAGE_ENTRY_ACCESSED 0x20ULL
#define PAGE_ENTRY_DIRTY 0x40ULL
#define PAGE_ENTRY_LEAF 0x80ULL     // above the last level: a large page, not a table
#define PAGE_ENTRY_HIDDEN 0x100ULL  // without PRESENT: there, but not to be touched; place inverted
#define PAGE_ENTRY_SPECIAL 0x200ULL  // no page of RSS, as the shared page of zeros is
#define PAGE_ENTRY_PLACE 0x000ffffffffff000ULL
// Of what is neither there nor empty: from this bit on the number of the swap file.
#define PAGE_ENTRY_SWAP_FILE 59
